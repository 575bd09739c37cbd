//! IDs of new objects.

/// Creates IDs, each once. The same calls create the same IDs in every run.
///
/// ```
/// let mut ids = fakecloud::Ids::default();
/// assert_eq!(ids.number(), 1);
/// assert_eq!(ids.uuid(), "00000002-0000-4000-8000-000000000002");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Ids(u64);

impl Ids {
    /// The next number, from 1.
    pub fn number(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }

    /// The next number in the form of a random UUID.
    pub fn uuid(&mut self) -> String {
        let number = self.number();
        format!("{:08x}-0000-4000-8000-{:012x}", number & 0xffff_ffff, number)
    }
}
