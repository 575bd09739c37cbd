//! Floats as Go writes them: `20`, not `20.0`.

use serde::{Serialize, Serializer};

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
pub(super) fn serialize<S: Serializer>(number: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    let fits = number.fract() == 0.0 && number.abs() < 1e9;
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
    if fits {
        (*number as i64).serialize(serializer)
    } else {
        number.serialize(serializer)
    }
}
