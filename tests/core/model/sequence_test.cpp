// Which tokens each context-parallel rank holds: a partition of all, in the order of the formula.
#include "core/model/sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/config/data.h"
#include "core/config/presets.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

using Positions = std::vector<std::int64_t>;

Documents one_document(std::int64_t seq) { return {.starts = {0}, .seq = seq}; }

Positions positions_of(const SequenceCut& cut, const Documents& documents, std::int64_t part) {
  Positions positions;
  for (const SequenceSlot& slot : slots_of(cut, documents, part)) {
    positions.push_back(slot.position);
  }
  return positions;
}

// Lengths 5, 1, 8 and 3: none a multiple of 4, one shorter than every multiple.
const Documents kPacked{.starts = {0, 5, 6, 14}, .seq = 17};

std::int64_t length_of(const Documents& documents, std::size_t document) {
  const bool is_last = document + 1 == documents.starts.size();
  return (is_last ? documents.seq : documents.starts[document + 1]) - documents.starts[document];
}

class EachContextSize : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Sequence, EachContextSize, testing::Values(1, 2, 3, 4, 8));

TEST_P(EachContextSize, IndexOfATokenFollowsTheFormula) {
  const std::int64_t cp = GetParam();
  const std::int64_t chunk = 3;
  const std::int64_t seq = cp == 1 ? chunk : 2 * cp * chunk;
  for (std::int64_t r = 0; r < cp; ++r) {
    const auto slots = slots_of({.num_parts = cp}, one_document(seq), r);
    ASSERT_EQ(slots.size(), static_cast<std::size_t>(seq / cp));
    for (std::int64_t i = 0; i < seq / cp; ++i) {
      const std::int64_t expected =
          i < chunk ? r * chunk + i : (2 * cp - 1 - r) * chunk + (i - chunk);
      const SequenceSlot& slot = slots[static_cast<std::size_t>(i)];
      EXPECT_EQ(slot.position, expected) << "rank " << r << " index " << i;
      EXPECT_EQ(slot.place, expected);
      EXPECT_EQ(slot.document, 0);
    }
  }
}

TEST_P(EachContextSize, PartsHoldEachPositionOnce) {
  const std::int64_t cp = GetParam();
  const std::int64_t multiple = cp == 1 ? 1 : 2 * cp;
  for (const Documents& documents : {one_document(48), kPacked}) {
    Positions all;
    for (std::int64_t part = 0; part < cp; ++part) {
      for (const std::int64_t position :
           positions_of({.num_parts = cp, .multiple = multiple}, documents, part)) {
        if (position >= 0) all.push_back(position);
      }
    }
    std::sort(all.begin(), all.end());
    Positions expected(static_cast<std::size_t>(documents.seq));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(all, expected);
  }
}

TEST_P(EachContextSize, PartsOfPackedDocumentsAreEqualInLengthDocumentByDocument) {
  const std::int64_t cp = GetParam();
  for (const std::int64_t tp : {1, 2, 3}) {
    const SequenceCut cut{.num_parts = cp, .multiple = (cp == 1 ? 1 : 2 * cp) * tp};
    for (std::int64_t part = 0; part < cp; ++part) {
      std::map<std::int64_t, std::int64_t> slots_of_document;
      for (const SequenceSlot& slot : slots_of(cut, kPacked, part)) {
        ++slots_of_document[slot.document];
      }
      for (std::size_t d = 0; d < kPacked.starts.size(); ++d) {
        const std::int64_t padded =
            (length_of(kPacked, d) + cut.multiple - 1) / cut.multiple * cut.multiple;
        EXPECT_EQ(slots_of_document[static_cast<std::int64_t>(d)], padded / cp)
            << "document " << d << " part " << part << " tp " << tp;
        EXPECT_EQ(padded / cp % tp, 0) << "each tensor rank takes as many";
      }
    }
  }
}

TEST_P(EachContextSize, PaddingLiesBehindTheTokensOfItsDocument) {
  const std::int64_t cp = GetParam();
  const SequenceCut cut{.num_parts = cp, .multiple = 2 * cp};
  for (std::int64_t part = 0; part < cp; ++part) {
    for (const SequenceSlot& slot : slots_of(cut, kPacked, part)) {
      const auto document = static_cast<std::size_t>(slot.document);
      EXPECT_EQ(slot.is_padding(), slot.place >= length_of(kPacked, document));
      if (!slot.is_padding()) {
        EXPECT_EQ(slot.position, kPacked.starts[document] + slot.place);
      }
    }
  }
}

TEST(Sequence, APackedDocumentIsCutByItself) {
  const SequenceCut cut{.num_parts = 2, .multiple = 4};
  EXPECT_EQ(positions_of(cut, kPacked, 0), (Positions{0, 1, -1, -1, 5, -1, 6, 7, 12, 13, 14, -1}));
  EXPECT_EQ(positions_of(cut, kPacked, 1), (Positions{2, 3, 4, -1, -1, -1, 8, 9, 10, 11, 15, 16}));
}

TEST(Sequence, ADocumentNeedNotHaveATokenForEachPart) {
  const Documents one_token{.starts = {0}, .seq = 1};
  const SequenceCut cut{.num_parts = 3, .multiple = 6};
  EXPECT_EQ(positions_of(cut, one_token, 0), (Positions{0, -1}));
  EXPECT_EQ(positions_of(cut, one_token, 1), (Positions{-1, -1}));
  EXPECT_EQ(positions_of(cut, one_token, 2), (Positions{-1, -1}));
}

TEST(Sequence, ContiguousPartsAreRunsOfTheDocument) {
  const SequenceCut cut{.num_parts = 2, .order = ChunkOrder::kContiguous};
  EXPECT_EQ(positions_of(cut, one_document(8), 0), (Positions{0, 1, 2, 3}));
  EXPECT_EQ(positions_of(cut, one_document(8), 1), (Positions{4, 5, 6, 7}));
}

TEST(Sequence, AnUncutTableGivesEveryPartTheFirst) {
  const SequenceCut cut{.num_parts = 4, .order = ChunkOrder::kFirst};
  for (std::int64_t part = 0; part < 4; ++part) {
    EXPECT_EQ(positions_of(cut, one_document(16), part), (Positions{0, 1, 2, 3}));
  }
}

TEST(Sequence, LengthsRoundedDownLoseTheirLastTokensButNeverAllOfADocument) {
  const SequenceCut cut{.num_parts = 2, .multiple = 4, .rounds_up = false};
  EXPECT_EQ(positions_of(cut, kPacked, 0), (Positions{0, 3, 5, -1, 6, 7, 12, 13, 14, -1}));
  EXPECT_EQ(positions_of(cut, kPacked, 1), (Positions{1, 2, -1, -1, 8, 9, 10, 11, 15, 16}));
}

TEST(Sequence, WithPaddingBehindTheSampleLaterDocumentsMoveUp) {
  const SequenceCut cut{.multiple = 4, .padding = PaddingPlace::kBehindSample};
  const Positions positions = positions_of(cut, kPacked, 0);
  Positions expected(24, -1);  // 8 + 4 + 8 + 4 slots
  std::iota(expected.begin(), expected.begin() + 17, 0);
  EXPECT_EQ(positions, expected);
  SequenceCut in_parts = cut;
  in_parts.num_parts = 2;
  EXPECT_EQ(positions_of(in_parts, kPacked, 0),
            (Positions{0, 1, 6, 7, 8, 11, 12, 13, -1, -1, -1, -1}))
      << "of lengths as before";
}

TEST(Sequence, ASampleAsOneUnitIsCutAcrossItsDocuments) {
  const SequenceCut cut{.num_parts = 2, .multiple = 4, .unit = CutUnit::kSample};
  const auto slots = slots_of(cut, kPacked, 0);
  const Positions expected{0, 1, 2, 3, 4, -1, 12, 13, 14, 15, 16, -1};
  Positions positions;
  for (const SequenceSlot& slot : slots) positions.push_back(slot.position);
  EXPECT_EQ(positions, expected);
  EXPECT_EQ(slots[6].place, 6) << "places are still those in documents";
}

TEST(Sequence, TheMultipleIsTwiceCpAndUnderSequenceParallelismTimesTp) {
  Case c = preset_case("tiny-context");
  c.layout.cp = 4;
  c.layout.tp = 3;
  EXPECT_EQ(document_multiple(c), 1) << "without packing";
  c.recipe.packing = true;
  EXPECT_EQ(document_multiple(c), 8);
  c.layout.sp = true;
  EXPECT_EQ(document_multiple(c), 24);
  c.layout.cp = 1;
  EXPECT_EQ(document_multiple(c), 3) << "without cp nothing is dealt out zigzag";
}

TEST(Sequence, EachPartIsCutEquallyOverTpWhateverTheDocuments) {
  for (const std::int64_t cp : {1, 2, 3, 4}) {
    Case c = preset_case("tiny-context");
    c.recipe.packing = true;
    c.layout.cp = cp;
    c.layout.tp = 3;
    c.layout.sp = true;
    for (std::int64_t sample = 0; sample < 6; ++sample) {
      const Documents documents{.starts = document_starts(c, 0, sample), .seq = c.recipe.seq};
      std::set<std::size_t> lengths;
      for (std::int64_t part = 0; part < cp; ++part) {
        lengths.insert(slots_of(plan_sequence_cut(c), documents, part).size());
      }
      EXPECT_EQ(lengths.size(), 1U);
      EXPECT_EQ(*lengths.begin() % 3, 0U);
    }
  }
}

TEST(Sequence, APartIsTheCoordinateOnTheCutsAxis) {
  test::spawn_contexts(test::layout_of({.tp = 2, .cp = 3, .dp = 2}),
                       [](const RankContext& context) {
                         const int rank = context.rank.value;
                         EXPECT_EQ(part_of({.num_parts = 3}, context), rank / 2 % 3);
                         EXPECT_EQ(part_of({.axis = Axis::kDp, .num_parts = 3}, context), rank / 6);
                         EXPECT_EQ(part_of({.axis = Axis::kTp, .num_parts = 3}, context), rank % 2);
                       });
}

TEST(Sequence, TextShowsEachField) {
  const SequenceCut cut{.num_parts = 3, .multiple = 6};
  EXPECT_EQ(to_text(cut), "zigzag of 3 over cp, documents padded to 6");
  EXPECT_EQ(to_text({.axis = Axis::kDp,
                     .num_parts = 2,
                     .order = ChunkOrder::kContiguous,
                     .multiple = 4,
                     .rounds_up = false,
                     .padding = PaddingPlace::kBehindSample,
                     .unit = CutUnit::kSample}),
            "contiguous of 2 over dp, documents cut off to 4, padding last, the sample as one");
  EXPECT_EQ(to_text({.num_parts = 2, .order = ChunkOrder::kFirst}),
            "the first of 2 over cp, documents padded to 1");
}

}  // namespace
}  // namespace lockstep
