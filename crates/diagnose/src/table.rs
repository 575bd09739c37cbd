//! A table for a terminal.

/// The rows with aligned columns; the last column is not padded.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("   ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [["a", "bb", "c"], ["long", "", "d e"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows), "a      bb   c\nlong        d e\n");
    }
}
