// The expression language: precedence, meaning of words, types, and errors with their column.
#include "core/config/expression.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"

namespace lockstep::test {
namespace {

Case small_case() {
  Case c = preset_case("tiny-linear");  // global_batch 12, micro_batch 1, mask uneven
  c.layout.tp = 4;
  c.layout.dp = 3;
  return c;
}

bool holds(const std::string& text) { return Expression::parse(text).holds(small_case()); }

std::string error_of(const std::string& text) {
  try {
    Expression::parse(text).holds(small_case());
  } catch (const ExpressionError& error) {
    return std::to_string(error.column()) + ": " + error.what();
  }
  return "no error";
}

TEST(ExpressionTest, ImplicationIsLoosestAndRightAssociative) {
  EXPECT_TRUE(holds("false -> false -> false"));  // left-associative it would be false
  EXPECT_TRUE(holds("false or true -> true"));
  EXPECT_FALSE(holds("true or false -> false"));
  EXPECT_FALSE(holds("true or (true -> false) -> false"));
}

TEST(ExpressionTest, AndBindsTighterThanOr) {
  EXPECT_TRUE(holds("true or false and false"));
  EXPECT_TRUE(holds("false and false or true"));
  EXPECT_FALSE(holds("(true or false) and false"));
}

TEST(ExpressionTest, NotBindsLooserThanComparisonAndTighterThanAnd) {
  EXPECT_TRUE(holds("not tp == 2"));
  EXPECT_TRUE(holds("!tp == 2"));
  EXPECT_FALSE(holds("not true and true"));
  EXPECT_FALSE(holds("not false and false"));
  EXPECT_TRUE(holds("not not true"));
}

TEST(ExpressionTest, SumsBindTighterThanComparisonsAndProductsTighterThanSums) {
  EXPECT_TRUE(holds("1 + 2 * 3 == 7"));
  EXPECT_TRUE(holds("(1 + 2) * 3 == 9"));
  EXPECT_TRUE(holds("10 - 3 - 2 == 5"));
  EXPECT_TRUE(holds("24 / 4 / 2 == 3"));
  EXPECT_TRUE(holds("-2 * 3 == -6"));
  EXPECT_TRUE(holds("2 - -3 == 5"));
  EXPECT_TRUE(holds("tp + dp % 2 == 5"));
}

TEST(ExpressionTest, WordsAndSymbolsOfOneOperatorAgree) {
  for (const char* text : {"true && true", "true and true", "false || true", "false or true"}) {
    EXPECT_TRUE(holds(text)) << text;
  }
  EXPECT_FALSE(holds("true && false"));
  EXPECT_FALSE(holds("false || false"));
}

TEST(ExpressionTest, DivisionOfWholeNumbersKeepsItsFraction) {
  EXPECT_TRUE(holds("dp / 2 == 1.5"));
  EXPECT_TRUE(holds("tp / 2 == 2"));
  EXPECT_TRUE(holds("7 % 4 == 3"));
}

TEST(ExpressionTest, ComparisonsOfNumbers) {
  EXPECT_TRUE(holds("tp < 5 and tp <= 4 and tp > 3 and tp >= 4 and tp != 3"));
  EXPECT_FALSE(holds("tp < 4"));
  EXPECT_FALSE(holds("tp > 4"));
  EXPECT_TRUE(holds("lr == 1e-1"));
  EXPECT_TRUE(holds("lr < 1"));
}

TEST(ExpressionTest, DerivedFieldsCanBeRead) {
  EXPECT_TRUE(holds("world == 12 and edp == 3 and num_micro_batches == 4 and not moe"));
}

TEST(ExpressionTest, ABareWordIsAChoiceOfTheOtherSide) {
  EXPECT_TRUE(holds("mask == uneven"));
  EXPECT_TRUE(holds("uneven == mask"));
  EXPECT_TRUE(holds("mask != full"));
  EXPECT_TRUE(holds("mask in [full, uneven]"));
  EXPECT_FALSE(holds("mask in [full, 'single']"));
  EXPECT_TRUE(holds("schedule != 1f1b"));
  EXPECT_TRUE(holds("cp_comm != 'a2a+p2p'"));
  EXPECT_TRUE(holds("preset == 'tiny-linear'"));
}

TEST(ExpressionTest, MembershipTakesNumbersAndListFields) {
  EXPECT_TRUE(holds("tp in [1, 2, 4]"));
  EXPECT_FALSE(holds("tp in []"));
  EXPECT_TRUE(holds("tp in [dp + 1]"));
  EXPECT_FALSE(holds("grad in overlap"));
  EXPECT_TRUE(holds("overlap == []"));
  EXPECT_TRUE(holds("betas == [0.9, 0.999]"));
  EXPECT_TRUE(holds("0.9 in betas"));
  Case c = small_case();
  c.recipe.overlap = {"grad"};
  EXPECT_TRUE(Expression::parse("grad in overlap").holds(c));
  EXPECT_TRUE(Expression::parse("overlap == [grad]").holds(c));
}

TEST(ExpressionTest, ListsItsFieldsSortedAndOnce) {
  const Expression parsed = Expression::parse("tp > 1 and mask == full or dp == tp");
  EXPECT_EQ(parsed.fields(), (std::vector<std::string>{"dp", "mask", "tp"}));
  EXPECT_EQ(parsed.text(), "tp > 1 and mask == full or dp == tp");
}

TEST(ExpressionTest, AnUnknownFieldIsAnErrorWithTheNearestName) {
  EXPECT_EQ(error_of("wrld <= 16"), "1: unknown field 'wrld'; did you mean 'world'?");
  EXPECT_EQ(error_of("tp > 1 and dpp == 2"), "12: unknown field 'dpp'; did you mean 'dp'?");
  EXPECT_EQ(error_of("xyzzy_plugh"), "1: unknown field 'xyzzy_plugh'");
}

TEST(ExpressionTest, AChoiceThatTheFieldLacksIsAnErrorWithTheNearestName) {
  EXPECT_EQ(error_of("loss_norm == tokn"),
            "14: loss_norm has no value 'tokn'; did you mean 'token'?");
  EXPECT_EQ(error_of("mask in [full, 'unevn']"),
            "16: mask has no value 'unevn'; did you mean 'uneven'?");
  EXPECT_EQ(error_of("norm == bogus_name"),
            "9: norm has no value 'bogus_name'; it is one of rms, layer");
}

TEST(ExpressionTest, AnExpressionThatIsNoConditionIsAnError) {
  EXPECT_EQ(error_of("tp"), "1: is no condition; compare it with something");
  EXPECT_EQ(error_of("tp + 1"), "1: is no condition; compare it with something");
  EXPECT_EQ(error_of("[1, 2]"), "1: is no condition; compare it with something");
  EXPECT_EQ(error_of("  "), "1: expression is empty");
}

TEST(ExpressionTest, OperandsOfTheWrongTypeAreErrors) {
  EXPECT_EQ(error_of("tp and true"), "1: expected a condition, got a number");
  EXPECT_EQ(error_of("sp + 1 == 2"), "1: expected a number, got a condition");
  EXPECT_EQ(error_of("mask < 3"), "1: expected a number, got a name");
  EXPECT_EQ(error_of("tp == true"), "7: cannot compare a number with a condition");
  EXPECT_EQ(error_of("mask == norm"), "9: mask and norm have different values");
  EXPECT_EQ(error_of("tp == [1]"), "7: use 'in' to compare with the values of a list");
  EXPECT_EQ(error_of("tp in 3"), "7: expected a list after 'in', as in [1, 2]");
  EXPECT_EQ(error_of("tp in [1, true]"), "11: expected a number, got a condition");
}

TEST(ExpressionTest, MistakesOfSyntaxNameTheirColumn) {
  EXPECT_EQ(error_of("tp = 2"), "4: '=' is no operator; write '==' to compare");
  EXPECT_EQ(error_of("tp == 2 & dp == 1"), "9: '&' is no operator; write 'and'");
  EXPECT_EQ(error_of("tp == "), "7: unexpected end");
  EXPECT_EQ(error_of("(tp == 2"), "9: unexpected end; expected ')'");
  EXPECT_EQ(error_of("tp == 2)"), "8: unexpected ')'");
  EXPECT_EQ(error_of("1 < tp < 4"), "8: comparisons do not chain; join two with 'and'");
  EXPECT_EQ(error_of("mask == 'full"), "9: quote is not closed");
  EXPECT_EQ(error_of("tp == 2 # x"), "9: unexpected character '#'");
  EXPECT_EQ(error_of("tp in [1, 2"), "12: unexpected end; expected ',' or ']'");
}

TEST(ExpressionTest, NumbersThatDoNotFitAreErrors) {
  EXPECT_EQ(error_of("tp < 99999999999999999999"), "6: number 99999999999999999999 is too large");
  EXPECT_EQ(error_of("lr < 1e999"), "6: number 1e999 is too large");
  EXPECT_EQ(error_of("tp * 9223372036854775807 > 0"), "1: the result does not fit in 64 bits");
  EXPECT_EQ(error_of("9223372036854775807 + 1 > 0"), "1: the result does not fit in 64 bits");
}

TEST(ExpressionTest, DivisionByZeroIsAnErrorOnlyWhereItIsReached) {
  EXPECT_EQ(error_of("tp / (dp - 3) == 1"), "7: division by zero");
  EXPECT_EQ(error_of("tp % zero == 1"), "6: modulo by zero");  // zero is a field, and 0
  EXPECT_EQ(error_of("dp == 3 or tp / 0 == 1"), "no error");
}

TEST(ExpressionTest, ShortCircuitsSoThatAGuardWorks) {
  EXPECT_TRUE(holds("num_experts > 0 -> tp % num_experts == 0"));
  EXPECT_FALSE(holds("num_experts > 0 and tp % num_experts == 0"));
  EXPECT_EQ(error_of("tp % num_experts == 0"), "6: modulo by zero");
  EXPECT_EQ(error_of("lr % 2 == 0"), "1: % takes whole numbers only");
}

TEST(ExpressionTest, DeepAndLongTextsAreErrorsAndNotCrashes) {
  EXPECT_EQ(error_of(std::string(100000, '(')).substr(0, 5), "2001:");
  EXPECT_NE(error_of(std::string(1500, '(')).find("nested deeper than 100"), std::string::npos);
  EXPECT_NE(error_of(std::string(1500, '!')).find("nested deeper than 100"), std::string::npos);
  std::string sum = "1";
  for (int i = 0; i < 900; ++i) sum += "+1";
  EXPECT_TRUE(holds(sum + " == 901"));
}

}  // namespace
}  // namespace lockstep::test
