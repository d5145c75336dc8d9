// Fuzzes the reader of a table of measurements (CSV), and makes every text, file and figure of the study that follows
// from the table.
#include "recipes/answer/measurements.h"
#include "data/error.h"
#include "graph/error.h"
#include "recipes/answer/answer_page.h"
#include "recipes/answer/answer_text.h"
#include "tests/fuzz/target.h"

namespace kb::fuzz::measurements_target {

KB_FUZZ_TARGET(measurements) {
  try {
    const Measurements measured = parse_measurement_table(text_of(data, size), "fuzz.csv", 60000.0);
    const StudyAnswer answer = answer_study(measured.runs, {});
    require(!answer_text(answer).empty(), "an answer has words");
    const std::vector<AnswerFigure> figures = answer_figures(answer);
    const std::string page = answer_page(answer, {"command", "fuzz.csv"}, figures);
    require(page.find("=\"nan\"") == std::string::npos && page.find("=\"-nan\"") == std::string::npos,
            "figures have finite places");
    answer_json(answer, {"command", "fuzz.csv"});
    const Measurements again = parse_measurement_table(answer_csv(answer), "study.csv");
    require(again.runs.size() == answer.best.size() + answer.missed.size(),
            "the table of an answer is one of measurements");
  } catch (const Error&) {
  } catch (const DataError&) {
  }
}

}  // namespace kb::fuzz::measurements_target
