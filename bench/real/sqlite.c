// A job for SQLite: THREADS connections to one database in memory (shared cache), each with a table of ROWS rows: inserts in
// transactions, updates, look-ups by key, an aggregate, an index. Prints the sums, which are the same for every schedule.
#include <pthread.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64, BATCH = 250 };
static long rows;
static long long sums[MOST];

static void fail(sqlite3 *db, const char *what) {
  fprintf(stderr, "error: %s: %s\n", what, sqlite3_errmsg(db));
  exit(1);
}

// In a shared cache another connection's write lock is an error at once, whatever the busy timeout: try again.
static int step(sqlite3_stmt *statement) {
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_LOCKED || code == SQLITE_BUSY || code == SQLITE_LOCKED_SHAREDCACHE) {
    sqlite3_reset(statement);
    sched_yield();
  }
  return code;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement;
  int code;
  while ((code = sqlite3_prepare_v2(db, sql, -1, &statement, 0)) == SQLITE_LOCKED || code == SQLITE_BUSY)
    sched_yield();
  if (code != SQLITE_OK)
    fail(db, sql);
  return statement;
}

static void run(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = prepare(db, sql);
  int code;
  while ((code = step(statement)) == SQLITE_ROW) {
  }
  if (code != SQLITE_DONE)
    fail(db, sql);
  sqlite3_finalize(statement);
}

static void *work(void *arg) {
  long thread = (long)arg;
  char sql[200];
  sqlite3 *db;
  if (sqlite3_open_v2("file:job?mode=memory&cache=shared", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, 0))
    fail(db, "open");
  snprintf(sql, sizeof sql, "create table t%ld(key integer primary key, value integer, name text)", thread);
  run(db, sql);
  snprintf(sql, sizeof sql, "insert into t%ld values(?1, ?1 * 7919 %% 10007, 'row ' || ?1)", thread);
  sqlite3_stmt *insert = prepare(db, sql);
  for (long i = 0; i < rows; i++) {
    if (i % BATCH == 0)
      run(db, "begin immediate");
    sqlite3_bind_int64(insert, 1, i + thread);
    if (step(insert) != SQLITE_DONE)
      fail(db, "insert");
    sqlite3_reset(insert);
    if (i % BATCH == BATCH - 1 || i == rows - 1)
      run(db, "commit");
  }
  sqlite3_finalize(insert);
  snprintf(sql, sizeof sql, "create index i%ld on t%ld(value)", thread, thread);
  run(db, sql);
  snprintf(sql, sizeof sql, "update t%ld set value = value + 1 where key %% 3 = 0", thread);
  run(db, sql);
  snprintf(sql, sizeof sql, "select value, length(name) from t%ld where key = ?1", thread);
  sqlite3_stmt *look = prepare(db, sql);
  for (long i = 0; i < rows; i++) {
    sqlite3_bind_int64(look, 1, i * 31 % rows + thread);
    if (step(look) != SQLITE_ROW)
      fail(db, "look-up");
    sums[thread] += sqlite3_column_int64(look, 0) + sqlite3_column_int64(look, 1);
    sqlite3_reset(look);
  }
  sqlite3_finalize(look);
  snprintf(sql, sizeof sql, "select sum(value) from t%ld where value between 100 and 5000", thread);
  sqlite3_stmt *sum = prepare(db, sql);
  if (step(sum) != SQLITE_ROW)
    fail(db, "sum");
  sums[thread] += sqlite3_column_int64(sum, 0);
  sqlite3_finalize(sum);
  sqlite3_close(db);
  return 0;
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 4;
  rows = argc > 2 ? atol(argv[2]) : 6000;
  if (threads < 1 || threads > MOST || rows < 1)
    return fprintf(stderr, "usage: sqlite [THREADS [ROWS]]\n"), 2;
  // Keeps the database while the threads come and go.
  sqlite3 *db;
  if (sqlite3_open_v2("file:job?mode=memory&cache=shared", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, 0))
    fail(db, "open");
  pthread_t ids[MOST];
  for (long i = 0; i < threads; i++)
    if (pthread_create(&ids[i], 0, work, (void *)i))
      return fprintf(stderr, "cannot create a thread\n"), 2;
  for (int i = 0; i < threads; i++)
    pthread_join(ids[i], 0);
  for (int i = 0; i < threads; i++)
    printf("%d: %lld\n", i, sums[i]);
  sqlite3_close(db);
  return 0;
}
