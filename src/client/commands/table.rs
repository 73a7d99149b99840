//! Tables, a row a line.

/// How many characters of a name a table shows.
pub(super) const MAX_NAME: usize = 64;

/// Lines of equal columns. The cells of the columns in `numbers` end together.
pub(super) fn table<const N: usize>(rows: &[[String; N]], numbers: &[usize]) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match numbers.contains(&column) {
            true => format!("{cell:>width$}"),
            false => format!("{cell:width$}"),
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [CLI-20]
    #[test]
    fn a_name_begins_its_column_even_if_it_is_a_number() {
        let rows = [["ID", "N", "TITLE"], ["7", "10", "2026"], ["long", "2", ""]];
        let rows = rows.map(|row| row.map(str::to_owned));
        let lines = ["ID     N  TITLE", "7     10  2026", "long   2"];
        assert_eq!(table(&rows, &[1]), lines);
        assert_eq!(table::<2>(&[], &[]), Vec::<String>::new());
    }
}
