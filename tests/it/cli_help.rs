//! Help that teaches.
