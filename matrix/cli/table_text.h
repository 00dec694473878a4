// Rows of cells as text: one line a row, or laid out for a terminal of some width.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::matrix {

using Row = std::vector<std::string>;

// The first row names the columns. Width 0: a line a row, however long. Otherwise the last column
// is wrapped where the lines are too long; where even that leaves it no room, each row becomes a
// block: its first cell, below it the last one, and then the others with their names.
// Where width does not matter, cells of the column named `ragged` are not padded: for one whose
// cells are long.
std::string table_text(const std::vector<Row>& rows,
                       std::size_t width,
                       const std::string& ragged = "");

}  // namespace lockstep::matrix
