// Picks the first of three layouts that fits: lines, lines with a wrapped last column, blocks.
#include "matrix/cli/table_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::matrix {
namespace {

constexpr std::size_t kWidestColumn = 40;
constexpr std::size_t kLeastRoom = 30;  // of a wrapped last column
constexpr std::size_t kMargin = 4;      // of the lines of a block
constexpr std::size_t kShortCell = 36;  // shares its line in a block

std::vector<std::size_t> column_widths(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      widths[i] = std::min(std::max(widths[i], row[i].size()), kWidestColumn);
    }
  }
  return widths;
}

// Broken at spaces into lines of at most `width`, but for words that are longer.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return lines;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// Columns as wide as their widest cell, but for a few long cells.
std::string leading_cells(const Row& row, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i + 1 < row.size(); ++i) {
    line += fmt::format("{:<{}}  ", row[i], widths[i]);
  }
  return line;
}

std::string lines_text(const std::vector<Row>& rows,
                       const std::vector<std::size_t>& widths,
                       std::size_t room) {
  std::string text;
  for (const Row& row : rows) {
    std::string line = leading_cells(row, widths);
    const std::size_t margin = leading_cells(Row(row.size()), widths).size();
    for (const std::string& part : wrapped(row.back(), room)) {
      text += without_trailing_spaces(line + part) + "\n";
      line.assign(margin, ' ');
    }
  }
  return text;
}

// Short cells share a line, each after its column's name.
std::string short_cells(const Row& names, const Row& row, std::size_t room) {
  std::string text;
  std::string line;
  for (std::size_t i = 1; i + 1 < row.size(); ++i) {
    if (row[i].empty() || row[i].size() > kShortCell) continue;
    const std::string cell = names[i] + " " + row[i];
    if (!line.empty() && line.size() + 3 + cell.size() > room) {
      text += std::string(kMargin, ' ') + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " | ") + cell;
  }
  return line.empty() ? text : text + std::string(kMargin, ' ') + line + "\n";
}

std::string long_cell(const std::string& name, const std::string& cell, std::size_t room) {
  std::string text;
  std::string line = std::string(kMargin, ' ') + name;
  const std::size_t margin = line.size();
  for (const std::string& part : wrapped(cell, std::max(room, margin + kLeastRoom) - margin)) {
    text += line + part + "\n";
    line.assign(margin, ' ');
  }
  return text;
}

std::string blocks_text(const std::vector<Row>& rows, std::size_t width) {
  const Row& names = rows.front();
  const std::size_t room = std::max(width, kMargin + kLeastRoom) - kMargin;
  std::string text;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    const Row& row = rows[r];
    text += row.front() + "\n" + long_cell("", row.back(), width) + short_cells(names, row, room);
    for (std::size_t i = 1; i + 1 < row.size(); ++i) {
      if (row[i].size() > kShortCell) text += long_cell(names[i] + " ", row[i], width);
    }
  }
  return text;
}

}  // namespace

std::string table_text(const std::vector<Row>& rows, std::size_t width, const std::string& ragged) {
  std::vector<std::size_t> widths = column_widths(rows);
  if (width == 0) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (rows.front()[i] == ragged) widths[i] = 0;
    }
    return lines_text(rows, widths, std::string::npos);
  }
  std::size_t leading = 0;
  for (const Row& row : rows) leading = std::max(leading, leading_cells(row, widths).size());
  if (leading + kLeastRoom > width) return blocks_text(rows, width);
  return lines_text(rows, widths, width - leading);
}

}  // namespace lockstep::matrix
