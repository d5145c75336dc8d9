// One row a flag: what its help says, how it reads and how it prints; and the makers of rows for the usual sorts.
#pragma once
#include <string>
#include <vector>

#include "recipes/config/flags.h"

namespace kb {

// Condition under which a flag has an effect: a value of another flag.
struct FlagNeed {
  std::string expected;                           // "--schedule step", for a message
  std::string flag;                               // "--schedule": its value stands behind it in the message
  std::function<bool(const Flags&)> is_met = {};  // empty: the flag always has an effect
};

// All facts of a flag.
struct FlagRow {
  FlagText text;
  std::function<void(Flags&, const std::string&)> read;  // throws UsageError
  std::function<std::string(const Flags&)> print;        // empty: nothing to say
  FlagEffect effect = FlagEffect::computed;
  bool differs = false;  // between processes of a run; what data and weights it names is compared once they are read
  FlagNeed need = {};
  std::string heading = {};  // of the help, above this flag and those behind it; empty: as the flag before

  FlagRow as(FlagEffect what) &&;
  FlagRow of_a_process() &&;
  FlagRow under(std::string title) &&;
  FlagRow needs(std::string expected, std::string flag, std::function<bool(const Flags&)> is_met) &&;
  bool has_effect(const Flags& flags) const { return !need.is_met || need.is_met(flags); }
};

// Every flag of the recipe, its own first.
std::vector<FlagRow> flag_table(const Recipe& recipe);

[[noreturn]] void refuse_value(const std::string& flag, const std::string& expected, const std::string& got,
                               const std::string& hint = "");
// Whole numbers are those of an int, so that none changes where the code counts with one, and the product of two does
// not overflow.
inline constexpr int64_t kWholeBelow = int64_t{1} << 31;
std::string whole_expectation(int64_t least);  // "a whole number in [1, 2^31)"
// Refuse what is no such number, or outside [least, below); of a real number, least is 0.
int64_t parse_whole(const std::string& flag, const std::string& text, const std::string& expected, int64_t least,
                    int64_t below = kWholeBelow);
double parse_finite(const std::string& flag, const std::string& text, const std::string& expected);
double parse_real(const std::string& flag, const std::string& text, const std::string& expected, double below);
void check_choice(const std::string& flag, const std::string& value, const std::vector<std::string>& choices);
// "a, b" -> {"a", "b"}.
std::vector<std::string> comma_separated(const std::string& text);

FlagRow whole(FlagText text, int64_t Flags::*member, bool may_be_zero);
FlagRow seed_row(FlagText text, int64_t Flags::*member);  // in [0, 2^32)
FlagRow real(FlagText text, double Flags::*member);       // >= 0
FlagRow positive(FlagText text, double Flags::*member);   // > 0
FlagRow fraction(FlagText text, double Flags::*member);   // in [0, 1)
FlagRow choice(FlagText text, std::string Flags::*member, const std::vector<std::string>& choices);
FlagRow path(FlagText text, std::string Flags::*member, const char* what = "a folder");
FlagRow toggle(FlagText text, bool Flags::*member);
FlagRow optional_real(FlagText text, std::optional<double> Flags::*member);  // >= 0

// Optimizer, hyper-parameters and learning rate (recipes/config/learning_flags.cpp).
std::vector<FlagRow> learning_flags(const Recipe& recipe);
// Throws UsageError where the flags of a command line do not say one learning rate. `given`: whether a flag stands on
// it.
void check_learning_flags(const Flags& flags, const std::function<bool(const std::string& flag)>& given);

}  // namespace kb
