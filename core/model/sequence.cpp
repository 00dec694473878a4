// Padding, chunks and parts of a sample's documents.
#include "core/model/sequence.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep {
namespace {

std::string_view name_of(ChunkOrder order) {
  switch (order) {
    case ChunkOrder::kZigzag:
      return "zigzag";
    case ChunkOrder::kContiguous:
      return "contiguous";
    case ChunkOrder::kFirst:
      return "the first";
  }
  throw InternalError("unknown order of chunks");
}

// A document's tokens and padding, or what rounding down leaves of it.
std::vector<SequenceSlot> padded_document(const SequenceCut& cut,
                                          std::int64_t number,
                                          std::int64_t start,
                                          std::int64_t length) {
  const std::int64_t whole = cut.rounds_up ? (length + cut.multiple - 1) / cut.multiple
                                           : std::max<std::int64_t>(length / cut.multiple, 1);
  std::vector<SequenceSlot> slots;
  for (std::int64_t place = 0; place < whole * cut.multiple; ++place) {
    const std::int64_t position = place < length ? start + place : -1;
    slots.push_back({.position = position, .document = number, .place = place});
  }
  return slots;
}

std::vector<std::vector<SequenceSlot>> padded_documents(const SequenceCut& cut,
                                                        const Documents& documents) {
  std::vector<std::vector<SequenceSlot>> padded;
  for (std::size_t i = 0; i < documents.starts.size(); ++i) {
    const std::int64_t start = documents.starts[i];
    const std::int64_t end =
        i + 1 < documents.starts.size() ? documents.starts[i + 1] : documents.seq;
    padded.push_back(padded_document(cut, static_cast<std::int64_t>(i), start, end - start));
  }
  return padded;
}

// The same slots in the same lengths, with all padding last.
void move_padding_back(std::vector<std::vector<SequenceSlot>>& documents) {
  std::vector<SequenceSlot> all;
  for (const auto& slots : documents) all.insert(all.end(), slots.begin(), slots.end());
  std::stable_partition(
      all.begin(), all.end(), [](const SequenceSlot& slot) { return !slot.is_padding(); });
  std::size_t next = 0;
  for (auto& slots : documents) {
    for (SequenceSlot& slot : slots) slot = all[next++];
  }
}

void join(std::vector<std::vector<SequenceSlot>>& documents) {
  for (std::size_t i = 1; i < documents.size(); ++i) {
    documents[0].insert(documents[0].end(), documents[i].begin(), documents[i].end());
  }
  documents.resize(1);
}

// Chunk `index` of `count` equal ones.
void append_chunk(const std::vector<SequenceSlot>& document,
                  std::int64_t index,
                  std::int64_t count,
                  std::vector<SequenceSlot>& slots) {
  const auto size = static_cast<std::int64_t>(document.size()) / count;
  const auto first = document.begin() + index * size;
  slots.insert(slots.end(), first, first + size);
}

}  // namespace

std::string to_text(const SequenceCut& cut) {
  std::string text = fmt::format("{} of {} over {}, documents {} to {}",
                                 name_of(cut.order),
                                 cut.num_parts,
                                 lockstep::name_of(cut.axis),
                                 cut.rounds_up ? "padded" : "cut off",
                                 cut.multiple);
  if (cut.padding == PaddingPlace::kBehindSample) text += ", padding last";
  if (cut.unit == CutUnit::kSample) text += ", the sample as one";
  return text;
}

std::int64_t document_multiple(const Case& c) {
  if (!c.recipe.packing) return 1;
  const std::int64_t chunks = c.layout.cp > 1 ? 2 * c.layout.cp : 1;
  return chunks * (c.layout.sp ? c.layout.tp : 1);
}

SequenceCut plan_sequence_cut(const Case& c) {
  return {.axis = Axis::kCp, .num_parts = c.layout.cp, .multiple = document_multiple(c)};
}

std::vector<SequenceSlot> slots_of(const SequenceCut& cut,
                                   const Documents& documents,
                                   std::int64_t part) {
  std::vector<std::vector<SequenceSlot>> padded = padded_documents(cut, documents);
  if (cut.padding == PaddingPlace::kBehindSample) move_padding_back(padded);
  if (cut.unit == CutUnit::kSample) join(padded);
  std::vector<SequenceSlot> slots;
  for (const std::vector<SequenceSlot>& document : padded) {
    const std::int64_t parts = cut.num_parts;
    if (parts == 1) {
      append_chunk(document, 0, 1, slots);
      continue;
    }
    switch (cut.order) {
      case ChunkOrder::kZigzag:
        append_chunk(document, part, 2 * parts, slots);
        append_chunk(document, 2 * parts - 1 - part, 2 * parts, slots);
        break;
      case ChunkOrder::kContiguous:
        append_chunk(document, part, parts, slots);
        break;
      case ChunkOrder::kFirst:
        append_chunk(document, 0, parts, slots);
        break;
    }
  }
  return slots;
}

std::int64_t part_of(const SequenceCut& cut, const RankContext& context) {
  return context.mesh.coordinate(context.rank, cut.axis) % cut.num_parts;
}

}  // namespace lockstep
