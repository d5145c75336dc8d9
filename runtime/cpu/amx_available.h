// Whether this processor multiplies matrix tiles.
#pragma once

namespace kb::amx {

bool available();  // whether this process may use tiles with products in bf16

}  // namespace kb::amx
