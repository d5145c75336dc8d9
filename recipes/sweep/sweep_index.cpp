#include "recipes/sweep/sweep_index.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <memory>

#include "recipes/sweep/sweep_table.h"
#include "runtime/atomic_file.h"
#include "runtime/json.h"

namespace kb {
namespace {

// recipes/sweep/README.md says what the columns mean.
constexpr const char* kSchema = R"(
CREATE TABLE trials (
  name TEXT PRIMARY KEY,
  minibatch INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  rate REAL,
  searched TEXT NOT NULL,
  state TEXT NOT NULL,
  is_best INTEGER NOT NULL,
  is_search INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  samples INTEGER NOT NULL,
  target_step INTEGER,
  target_samples INTEGER,
  metric TEXT,
  test REAL,
  loss REAL,
  seconds REAL,
  state_sha256 TEXT
);
)";

[[noreturn]] void refuse_database(sqlite3* database) {
  throw Error(fmt::format("{}: {}", kIndexFile, database ? sqlite3_errmsg(database) : "no memory"));
}

// A database in memory. Without a file it needs no lock, which the store's file system may lack.
class Database {
 public:
  Database() {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open(":memory:", &opened);
    database_.reset(opened);
    if (code != SQLITE_OK) refuse_database(opened);
  }

  void run(const char* sql) {
    if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) refuse_database(database_.get());
  }

  // Returns the bytes of the database's file.
  std::string bytes() const {
    sqlite3_int64 size = 0;
    const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> image(
        sqlite3_serialize(database_.get(), "main", &size, 0), sqlite3_free);
    if (!image) refuse_database(database_.get());
    return {reinterpret_cast<const char*>(image.get()), static_cast<size_t>(size)};
  }

  sqlite3* get() const { return database_.get(); }

 private:
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database_{nullptr, sqlite3_close};
};

// Adds rows to a table, value by value.
class Insert {
 public:
  Insert(Database& database, const char* sql) : database_(database) {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(database.get(), sql, -1, &prepared, nullptr) != SQLITE_OK) refuse_database(database.get());
    statement_.reset(prepared);
  }

  Insert& add(const std::string& text) {
    return bound(sqlite3_bind_text(statement_.get(), ++column_, text.c_str(), -1, SQLITE_TRANSIENT));
  }
  Insert& add(int64_t number) { return bound(sqlite3_bind_int64(statement_.get(), ++column_, number)); }
  // Adds null if the number is not finite.
  Insert& add(double number) {
    if (!std::isfinite(number)) return add_null();
    return bound(sqlite3_bind_double(statement_.get(), ++column_, number));
  }
  Insert& add_null() { return bound(sqlite3_bind_null(statement_.get(), ++column_)); }
  Insert& add(const std::optional<int64_t>& number) { return number ? add(*number) : add_null(); }

  void row() {
    if (sqlite3_step(statement_.get()) != SQLITE_DONE) refuse_database(database_.get());
    sqlite3_reset(statement_.get());
    column_ = 0;
  }

 private:
  Insert& bound(int code) {
    if (code != SQLITE_OK) refuse_database(database_.get());
    return *this;
  }

  Database& database_;
  std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement_{nullptr, sqlite3_finalize};
  int column_ = 0;
};

void add_row(Insert& insert, const RunReport& run, const MinibatchPlan& plan, const PlannedTrial& trial) {
  const bool is_best = plan.is_searched && plan.best && trial.name == plan.trials[*plan.best].name;
  const bool is_reached = trial.state == TrialState::reached;
  const int64_t steps = std::max(run.steps, trial.standing.steps);
  insert.add(trial.name).add(trial.minibatch).add(trial.seed).add(run.rate.value_or(std::nan("")));
  insert.add(Json(trial.values).dump()).add(text_of(trial.state));
  insert.add(int64_t{is_best}).add(int64_t{trial.is_search}).add(steps).add(steps * trial.minibatch);
  insert.add(is_reached ? std::optional(trial.standing.target_step) : std::nullopt);
  insert.add(is_reached ? std::optional(std::llround(trial.standing.samples)) : std::nullopt);
  const bool is_tested = run.is_done() && run.result_part == kTestPart;
  if (run.recipe.empty())
    insert.add_null();
  else
    insert.add(run.goal);
  insert.add(is_tested ? run.result : std::nan("")).add(is_tested ? run.loss : std::nan(""));
  insert.add(run.train_seconds).add(run.state_sha256);
  insert.row();
}

}  // namespace

RunReport SweepIndex::report_of(const std::filesystem::path& store, const PlannedTrial& trial) {
  if (const auto known = reports_.find(trial.name); known != reports_.end()) return known->second;
  RunReport report = find_run(store / trial.name).value_or(RunReport());  // without a manifest it is empty
  report.evaluations = {};
  return trial.is_final() ? reports_[trial.name] = std::move(report) : report;
}

std::string SweepIndex::bytes(const SweepView& view) {
  Database database;
  database.run(kSchema);
  database.run("BEGIN");
  Insert insert(database, "INSERT INTO trials VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (const MinibatchPlan& plan : view.plan().minibatches)
    for (const PlannedTrial& trial : plan.trials) add_row(insert, report_of(view.folder(), trial), plan, trial);
  database.run("COMMIT");
  return database.bytes();
}

std::string SweepIndex::write(const SweepView& view) {
  try {
    write_file_atomically(view.folder() / kIndexFile, bytes(view));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace kb
