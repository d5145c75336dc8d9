// Logarithm and exponential of double numbers with the same bits on every machine. They are made of operations that
// IEEE 754 rounds in one way only; those of C libraries differ in the last bit between versions and processors.
#pragma once

namespace kb {

// Returns ln(x) for x > 0, within 4e-16 of the truth, relative to it or to ln 2.
double portable_log(double x);
// Returns e^x for |x| < 700, with a relative error below 1e-15.
double portable_exp(double x);

}  // namespace kb
