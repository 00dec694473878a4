// Files made byte by byte: what is well formed is read exactly, every misfit is told.
#include "core/snapshot/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/errors.h"

namespace lockstep::test {
namespace {

template <typename T>
std::string raw(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string with_header(const std::string& header, const std::string& data) {
  return raw<std::uint64_t>({header.size()}) + header + data;
}

std::string problem_of_path(const std::string& path) {
  try {
    SafetensorsFile{path};
  } catch (const UsageError& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.substr(0, path.size() + 2), path + ": ");
    return what.substr(path.size() + 2);
  }
  return "";
}

class Safetensors : public testing::Test {
 protected:
  Safetensors() {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    path_ = testing::TempDir() + "lockstep_" + name + ".safetensors";
  }
  ~Safetensors() override { std::filesystem::remove(path_); }

  // A new file: some file systems write one to disk at once that is made shorter and closed.
  void write(const std::string& bytes) const {
    std::filesystem::remove(path_);
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  SafetensorsFile read(const std::string& bytes) const {
    write(bytes);
    return SafetensorsFile(path_);
  }

  // What is wrong with a file of these bytes, without the path; "" where nothing is.
  std::string problem(const std::string& bytes) const {
    write(bytes);
    return problem_of_path(path_);
  }

  // The same of a file of one entry of that JSON and 16 bytes of data.
  std::string problem_of_entry(const std::string& entry) const {
    return problem(with_header("{\"a\":" + entry + "}", std::string(16, '\1')));
  }

  std::string path_;
};

TEST_F(Safetensors, ReadsEachTypeExactly) {
  const SafetensorsFile file =
      read(with_header(R"({"__metadata__":{"format":"pt"},)"
                       R"("f32":{"dtype":"F32","shape":[1,2],"data_offsets":[32,40]},)"
                       R"("f64":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},)"
                       R"("bf16":{"dtype":"BF16","shape":[2,1],"data_offsets":[40,44]},)"
                       R"("i64":{"dtype":"I64","shape":[2],"data_offsets":[16,32]}}  )",
                       raw<double>({0.1, -2.5}) + raw<std::int64_t>({-100, INT64_MAX}) +
                           raw<float>({0.1F, 3.0F}) + raw<std::uint16_t>({0x3f80, 0xc0a0})));
  EXPECT_EQ(file.reals("f64"), (std::vector<double>{0.1, -2.5}));
  EXPECT_EQ(file.reals("f32"), (std::vector<double>{static_cast<double>(0.1F), 3.0}));
  EXPECT_EQ(file.reals("bf16"), (std::vector<double>{1.0, -5.0}));
  EXPECT_EQ(file.integers("i64"), (std::vector<std::int64_t>{-100, INT64_MAX}));
  EXPECT_EQ(file.entry("f32").shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(file.entry("f32").dtype, DType::kF32);
}

TEST_F(Safetensors, ListsEntriesInTheOrderOfTheirData) {
  const SafetensorsFile file =
      read(with_header(R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},)"
                       R"("b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})",
                       raw<double>({1.0, 2.0})));
  ASSERT_EQ(file.entries().size(), 2U);
  EXPECT_EQ(file.entries()[0].name, "b");
  EXPECT_EQ(file.entries()[1].name, "a");
}

TEST_F(Safetensors, ReadsAScalarAndAnEmptyTensor) {
  const SafetensorsFile file =
      read(with_header(R"({"scalar":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
                       R"("empty":{"dtype":"F64","shape":[3,0],"data_offsets":[8,8]}})",
                       raw<double>({7.0})));
  EXPECT_EQ(file.reals("scalar"), (std::vector<double>{7.0}));
  EXPECT_TRUE(file.reals("empty").empty());
}

TEST_F(Safetensors, ReadsAFileWithoutTensors) {
  EXPECT_TRUE(read(with_header("{}", "")).entries().empty());
}

TEST_F(Safetensors, RefusesANameThatItLacksAndTheOtherKindOfNumber) {
  const SafetensorsFile file =
      read(with_header(R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
                       R"("n":{"dtype":"I64","shape":[1],"data_offsets":[8,16]}})",
                       std::string(16, '\0')));
  EXPECT_THROW(file.reals("b"), UsageError);
  EXPECT_THROW(file.reals("n"), UsageError);
  EXPECT_THROW(file.integers("a"), UsageError);
}

TEST_F(Safetensors, RefusesWhatIsNoFile) {
  EXPECT_EQ(problem_of_path(path_), "no such file");
  EXPECT_EQ(problem_of_path(testing::TempDir()), "is no regular file; name a .safetensors file");
  EXPECT_EQ(problem_of_path(testing::TempDir() + std::string(300, 'n')),
            "cannot be read: File name too long");
  EXPECT_THROW(SafetensorsFile(""), UsageError);
}

TEST_F(Safetensors, TellsOfAFileThatEndsWithinTheHeader) {
  EXPECT_EQ(problem("abc"),
            "is 3 bytes long; a safetensors file begins with the 8 bytes of its header's length");
  EXPECT_EQ(problem(raw<std::uint64_t>({100}) + "{}"),
            "gives a header length of 100 bytes, but only 2 bytes follow");
}

TEST_F(Safetensors, AllocatesNothingForAHeaderLengthOutOfReach) {
  EXPECT_EQ(problem(raw<std::uint64_t>({UINT64_MAX}) + "{}"),
            "gives a header length of 18446744073709551615 bytes; at most 100000000 are allowed");
}

TEST_F(Safetensors, TellsOfAHeaderThatIsNoObjectOfTensors) {
  EXPECT_EQ(problem(with_header("[1]", "")), "the header is no JSON object");
  EXPECT_EQ(problem(with_header("{\"a\":", "")).substr(0, 23), "the header is not JSON:");
  EXPECT_EQ(problem(with_header(R"({"a":[[[[]]]]})", "")), "the header is nested too deeply");
  EXPECT_EQ(problem_of_entry("7"), R"("a": is no JSON object)");
}

TEST_F(Safetensors, TellsOfANameOrKeyThatStandsTwice) {
  const std::string entry = R"({"dtype":"F64","shape":[1],"data_offsets":[0,8]})";
  EXPECT_EQ(problem(with_header("{\"a\":" + entry + ",\"a\":" + entry + "}", raw<double>({1.0}))),
            R"(the header has "a" twice)");
  EXPECT_EQ(problem_of_entry(R"({"dtype":"F64","dtype":"F32"})"),
            R"(the header has "dtype" twice)");
}

TEST_F(Safetensors, TellsOfATypeThatItDoesNotKnow) {
  EXPECT_EQ(problem_of_entry(R"({"dtype":"F8_E4M3","shape":[16],"data_offsets":[0,16]})"),
            R"("a": dtype "F8_E4M3" is not known; known are F64, F32, BF16, I64)");
}

TEST_F(Safetensors, TellsOfAKeyThatIsMissingOrTooMany) {
  EXPECT_EQ(problem_of_entry(R"({"shape":[2],"data_offsets":[0,16]})"), R"("a": has no dtype)");
  EXPECT_EQ(problem_of_entry(R"({"dtype":"F64","shape":[2]})"), R"("a": has no data_offsets)");
  EXPECT_EQ(problem_of_entry(R"({"dtype":"F64","shape":[2],"data_offsets":[0,16],"x":1})"),
            R"("a": has more than dtype, shape and data_offsets)");
}

TEST_F(Safetensors, TellsOfOffsetsThatLeaveTheData) {
  EXPECT_EQ(problem_of_entry(R"({"dtype":"F64","shape":[3],"data_offsets":[0,24]})"),
            R"("a": its data ends at byte 24, but the file has 16 bytes of data)");
  EXPECT_EQ(problem_of_entry(R"({"dtype":"F64","shape":[1],"data_offsets":[16,8]})"),
            R"("a": its data begins at byte 16, after its end at 8)");
  EXPECT_EQ(problem_of_entry(R"({"dtype":"F64","shape":[2],"data_offsets":[16]})"),
            R"("a": data_offsets must be two: begin and end)");
}

TEST_F(Safetensors, TellsOfAShapeThatDoesNotFitItsData) {
  EXPECT_EQ(problem_of_entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,16]})"),
            R"("a": its shape needs 8 bytes, data_offsets give 16)");
}

TEST_F(Safetensors, TellsOfAShapeWhoseSizeOverflows) {
  // 2^32 * 2^32 * 8 is 0 modulo 2^64.
  EXPECT_EQ(
      problem_of_entry(R"({"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]})"),
      R"("a": its shape has more bytes than can be counted)");
}

TEST_F(Safetensors, TellsOfSizesThatAreNoWholeNumbers) {
  const auto of_shape = [&](const std::string& shape) {
    return problem_of_entry(R"({"dtype":"F64","shape":)" + shape + R"(,"data_offsets":[0,16]})");
  };
  const std::string expected = ", which is no whole number from 0 to 2^63 - 1";
  EXPECT_EQ(of_shape("[-2]"), R"("a": shape holds -2)" + expected);
  EXPECT_EQ(of_shape("[2.0]"), R"("a": shape holds 2.0)" + expected);
  EXPECT_EQ(of_shape("[18446744073709551615]"),
            R"("a": shape holds 18446744073709551615)" + expected);
  EXPECT_EQ(of_shape("2"), R"("a": shape is no list)");
}

TEST_F(Safetensors, TellsOfDataThatNoTensorOrTwoTensorsOwn) {
  EXPECT_EQ(problem_of_entry(R"({"dtype":"F64","shape":[1],"data_offsets":[0,8]})"),
            "bytes 8 to 16 of the data belong to no tensor");
  EXPECT_EQ(problem_of_entry(R"({"dtype":"F64","shape":[1],"data_offsets":[8,16]})"),
            "bytes 0 to 8 of the data belong to no tensor");
  EXPECT_EQ(problem(with_header(R"({"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},)"
                                R"("b":{"dtype":"F64","shape":[1],"data_offsets":[8,16]}})",
                                std::string(16, '\0'))),
            R"("b": its data overlaps another tensor's)");
}

TEST_F(Safetensors, ReadsOrRefusesAFileWithAnyOneByteChanged) {
  const std::string good =
      with_header(R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})", std::string(8, 1));
  int num_refused = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char byte : {'\0', '\xff', '"', '[', '}', '9', '-'}) {
      std::string bad = good;
      bad[i] = byte;
      num_refused += problem(bad).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(num_refused, 300);
}

TEST_F(Safetensors, RefusesAFileThatIsCutShortAnywhere) {
  const std::string good =
      with_header(R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})", std::string(8, 1));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(problem(good.substr(0, size)), "") << size;
  }
}

TEST_F(Safetensors, ShowsLongAndStrangeNamesShort) {
  const std::string name = "\\n" + std::string(1000, 'x');
  const std::string text = problem(with_header("{\"" + name + "\":7}", ""));
  EXPECT_LT(text.size(), 120U);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace lockstep::test
