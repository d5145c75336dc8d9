// Claims of papers beside what was measured here: their text, table and JSON.
#pragma once
#include <string>
#include <vector>

#include "recipes/trials/verdict.h"
#include "runtime/json.h"

namespace kb {

struct JudgedClaim {
  std::string claim;           // statement in words
  std::string paper;           // figures in the paper
  std::string ours = {};       // figures here; if the claim cannot be tested, the reason
  std::string criterion = {};  // condition under which the claim holds here
  Evidence evidence = {};
  bool is_ratio = false;  // true if the evidence compares logarithms, so that its difference is that of a ratio
};

// Returns the difference, or the ratio, with its interval and the number of seeds: "-1.20 (-1.50 to -0.90), 3 seeds",
// "x 0.78 (0.71 to 0.86), 3 seeds".
std::string evidence_text(const Evidence& evidence, bool is_ratio);

// Returns the verdict, the statement, the paper's figures and ours of each, on lines of at most 79 columns.
std::string claims_text(const std::vector<JudgedClaim>& claims);
std::string claims_table(const std::vector<JudgedClaim>& claims);  // returns HTML
Json claims_json(const std::vector<JudgedClaim>& claims);          // returns an array

}  // namespace kb
