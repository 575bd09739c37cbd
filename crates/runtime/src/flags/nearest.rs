//! What the user may have meant.

/// The candidate that is most like `word`, if one is so close that it was probably meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    // Any letter is as near to one letter as any other.
    let allowed = if length < 2 { 0 } else { (length / 3).clamp(1, 4) };
    let distances = candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate));
    distances
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The end of a sentence that names the candidate that was probably meant; empty if there is none.
pub fn or_nearest<'a>(word: &str, prefix: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or_else(String::new, |near| format!(", did you mean {prefix}{near}?"))
}

/// How many letters must be inserted, dropped, replaced or swapped with their neighbour.
fn distance(from: &str, to: &str) -> usize {
    let (from, to) = (letters(from), letters(to));
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = above[column] + usize::from(letter != other);
            let mut best = replaced.min(above[column + 1] + 1).min(line[column] + 1);
            let swapped = row > 0 && column > 0 && *letter == to[column - 1] && from[row - 1] == *other;
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            line.push(best);
        }
        before = std::mem::replace(&mut above, line);
    }
    above[to.len()]
}

fn letters(word: &str) -> Vec<char> {
    word.chars().map(|letter| letter.to_ascii_lowercase()).collect()
}
