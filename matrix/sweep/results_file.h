// results.jsonl: a line the moment its case ends, whole and in the kernel's hands.
//
// A killed command leaves every finished line readable; at most the last line is torn, and resuming
// drops it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/sweep/case_result.h"

namespace lockstep::matrix {

class ResultsFile {
 public:
  // Makes `folder` where it is missing and takes hold of it: two sweeps never write to one folder.
  // UsageError where that cannot be, with nothing that lies there changed.
  explicit ResultsFile(const std::string& folder);
  ~ResultsFile();
  ResultsFile(const ResultsFile&) = delete;
  ResultsFile& operator=(const ResultsFile&) = delete;

  // Begins with nothing: an earlier results.jsonl and summary.json are replaced.
  void start_anew();

  // Begins with those earlier lines that `keep` accepts; others, and a torn last one, are dropped.
  // Returns how many lines were dropped.
  std::size_t resume(const std::function<bool(const CaseResult&)>& keep);

  // UsageError where the disk does not take it.
  void append(std::string_view line);

  // Replaces a file of the folder at once: readers see the old text or the new one.
  void write_beside(const std::string& file_name, std::string_view text) const;

  std::string path() const { return folder_ + "/results.jsonl"; }

 private:
  void begin_with(const std::vector<std::string>& lines);

  std::string folder_;
  int lock_ = -1;
  int file_ = -1;
};

}  // namespace lockstep::matrix
