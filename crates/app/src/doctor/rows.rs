//! From facts to rows: what each fact means for this program.

mod cpu;
mod kernel;
mod memory;
mod programs;
#[cfg(test)]
mod tests;

use super::Row;
use super::facts::Facts;

/// Every row, in the order to be read: what most figures depend on first.
pub fn judge(facts: &Facts) -> Vec<Row> {
    let mut rows = cpu::rows(facts);
    rows.extend(memory::rows(&facts.memory));
    rows.extend(kernel::rows(&facts.kernel));
    rows.extend(programs::rows(&facts.programs));
    rows
}
