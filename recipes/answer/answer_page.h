// The answer of a study as one HTML page: figures, tables, sentences. The page needs no other file and no network.
#pragma once
#include <string>
#include <vector>

#include "recipes/answer/answer_figures.h"
#include "recipes/answer/answer_files.h"

namespace kb {

// Returns a table of the head and its notes; "" for an empty head.
std::string head_table(const StudyHead& head);

// Return parts of a page: sentences as one paragraph, a paragraph for each note, figures beside each other.
std::string sentences_html(const std::vector<std::string>& sentences);
std::string notes_html(const std::vector<std::string>& notes);
std::string figures_html(const std::vector<AnswerFigure>& figures);

// Returns the page of one study.
std::string answer_page(const StudyAnswer& answer, const AnswerSource& source,
                        const std::vector<AnswerFigure>& figures);

}  // namespace kb
