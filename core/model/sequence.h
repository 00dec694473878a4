// Which tokens of a sample each context-parallel rank holds, and in which order (semantics,
// section 3): documents padded, cut into chunks, and dealt out zigzag.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/config/case.h"
#include "core/parallel/rank_context.h"

namespace lockstep {

// A place of a rank's local sequence.
struct SequenceSlot {
  std::int64_t position = -1;  // in the sample; -1: padding
  std::int64_t document = 0;
  std::int64_t place = 0;  // in the document, padding behind its tokens
  bool is_padding() const { return position < 0; }
};

// Of a document's chunks, which part r of n takes.
enum class ChunkOrder {
  kZigzag,      // r and 2 n - 1 - r of 2 n
  kContiguous,  // r of n
  kFirst,       // the first of n, whatever r is: a table that nobody cut
};

// Where padding lies.
enum class PaddingPlace {
  kBehindDocuments,
  kBehindSample,  // all of it behind the last document: those before it move up
};

// What is cut into chunks.
enum class CutUnit { kDocument, kSample };

// How one field of a batch is cut. All fields of a batch are cut alike, each by a plan of its own.
struct SequenceCut {
  Axis axis = Axis::kCp;  // a rank's coordinate on it is its part
  std::int64_t num_parts = 1;
  ChunkOrder order = ChunkOrder::kZigzag;
  std::int64_t multiple = 1;  // of tokens, to which each document is padded
  bool rounds_up = true;      // or cuts off what is beyond a whole multiple
  PaddingPlace padding = PaddingPlace::kBehindDocuments;
  CutUnit unit = CutUnit::kDocument;
};

std::string to_text(const SequenceCut& cut);

// A document's length must be padded to this, so that all parts are equal, under sequence
// parallelism on each tensor rank too. Without packing no document needs padding (rules.h).
std::int64_t document_multiple(const Case& c);
SequenceCut plan_sequence_cut(const Case& c);

// The documents of a sample of `seq` tokens, by where they begin.
struct Documents {
  std::vector<std::int64_t> starts;
  std::int64_t seq = 0;
};

// The local sequence of one part.
std::vector<SequenceSlot> slots_of(const SequenceCut& cut,
                                   const Documents& documents,
                                   std::int64_t part);
// The part of a rank.
std::int64_t part_of(const SequenceCut& cut, const RankContext& context);

}  // namespace lockstep
