#include "data/text/load_tokenizer.h"

#include "data/text/piece_tokenizer.h"
#include "data/text/unit_tokenizer.h"

namespace kb {

std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& name, const std::string& content) {
  if (is_unit_tokenizer(content)) return parse_unit_tokenizer(name, content);
  return parse_piece_tokenizer(name, content);
}

}  // namespace kb
