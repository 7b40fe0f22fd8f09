// A job for LevelDB: THREADS threads write KEYS keys each, read them back and delete a third, while the library's own thread
// compacts. Prints what each thread found and what a scan finds at the end, the same for every schedule.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/db.h"
#include "leveldb/write_batch.h"

static std::string key(long thread, long i) {
  char text[40];
  snprintf(text, sizeof text, "%03ld-%08ld", thread, i * 7919 % 1000003);
  return text;
}

static void check(const leveldb::Status &status) {
  if (!status.ok()) {
    fprintf(stderr, "error: %s\n", status.ToString().c_str());
    exit(1);
  }
}

static void work(leveldb::DB *db, long thread, long keys, unsigned long *sum) {
  leveldb::WriteBatch batch;
  for (long i = 0; i < keys; i++) {
    batch.Put(key(thread, i), std::string(static_cast<size_t>(20 + i % 80), static_cast<char>('a' + i % 26)));
    if (i % 20 == 19 || i == keys - 1) {
      check(db->Write(leveldb::WriteOptions(), &batch));
      batch.Clear();
    }
  }
  for (long i = 0; i < keys; i++) {
    std::string value;
    check(db->Get(leveldb::ReadOptions(), key(thread, i), &value));
    *sum = *sum * 31 + value.size() + static_cast<unsigned char>(value[0]);
    if (i % 3 == 0)
      check(db->Delete(leveldb::WriteOptions(), key(thread, i)));
  }
}

int main(int argc, char **argv) {
  const long threads = argc > 1 ? atol(argv[1]) : 4;
  const long keys = argc > 2 ? atol(argv[2]) : 20000;
  if (threads < 1 || threads > 64 || keys < 1 || keys > 1000000)
    return fprintf(stderr, "usage: leveldb [THREADS [KEYS]]\n"), 2;
  const char *temporary = getenv("TMPDIR");
  std::string folder = std::string(temporary ? temporary : "/tmp") + "/leveldb-job-XXXXXX";
  if (!mkdtemp(folder.data()))
    return perror("mkdtemp"), 2;
  leveldb::Options options;
  options.create_if_missing = true;
  // Small, so that there is something to compact.
  options.write_buffer_size = 1 << 18;
  leveldb::DB *opened = nullptr;
  check(leveldb::DB::Open(options, folder, &opened));
  std::unique_ptr<leveldb::DB> db(opened);
  std::vector<unsigned long> sums(static_cast<size_t>(threads));
  std::vector<std::thread> workers;
  for (long thread = 0; thread < threads; thread++)
    workers.emplace_back(work, db.get(), thread, keys, &sums[static_cast<size_t>(thread)]);
  for (std::thread &worker : workers)
    worker.join();
  long count = 0;
  {
    std::unique_ptr<leveldb::Iterator> all(db->NewIterator(leveldb::ReadOptions()));
    for (all->SeekToFirst(); all->Valid(); all->Next())
      count++;
  }
  for (unsigned long sum : sums)
    printf("%lu\n", sum);
  printf("%ld left\n", count);
  db.reset();
  check(leveldb::DestroyDB(folder, options));
  return 0;
}
