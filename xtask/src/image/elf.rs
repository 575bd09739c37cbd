//! Whether a program is static, by its header.

use anyhow::{Context, Result, bail};

const INTERPRETER: u32 = 3;

/// The architecture of a static program, as images name it.
pub(super) fn static_architecture(program: &[u8]) -> Result<&'static str> {
    // 64 bits, little-endian: all that we build for.
    if !program.starts_with(b"\x7fELF\x02\x01") {
        bail!("not a program for 64-bit Linux");
    }
    let architecture = match half(program, 18)? {
        62 => "amd64",
        183 => "arm64",
        other => bail!("a program for an unknown machine ({other})"),
    };
    if let Some(interpreter) = interpreter(program)? {
        bail!("it needs {interpreter}, which the image does not have: build a static one with make binary");
    }
    Ok(architecture)
}

/// The loader that a dynamic program asks for.
fn interpreter(program: &[u8]) -> Result<Option<String>> {
    let (table, size, count) = (long(program, 32)?, half(program, 54)?, half(program, 56)?);
    for at in (0..count).map(|each| table + usize::from(each) * usize::from(size)) {
        if word(program, at)? == INTERPRETER {
            let (start, length) = (long(program, at + 8)?, long(program, at + 32)?);
            let path = bytes(program, start, length)?;
            return Ok(Some(String::from_utf8_lossy(path).trim_end_matches('\0').to_owned()));
        }
    }
    Ok(None)
}

fn bytes(program: &[u8], at: usize, count: usize) -> Result<&[u8]> {
    let end = at.checked_add(count);
    end.and_then(|end| program.get(at..end))
        .context("a broken program: its header is cut off")
}

fn half(program: &[u8], at: usize) -> Result<u16> {
    Ok(u16::from_le_bytes(bytes(program, at, 2)?.try_into()?))
}

fn word(program: &[u8], at: usize) -> Result<u32> {
    Ok(u32::from_le_bytes(bytes(program, at, 4)?.try_into()?))
}

fn long(program: &[u8], at: usize) -> Result<usize> {
    Ok(usize::try_from(u64::from_le_bytes(bytes(program, at, 8)?.try_into()?))?)
}
