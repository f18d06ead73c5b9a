//! Timestamps: ISO 8601 text to milliseconds since 1970 and back.

/// Milliseconds since 1970-01-01T00:00:00Z of an ISO 8601 text, as `Date.parse` reads it: date, date and time,
/// fraction, zone (`Z`, `+hh:mm`). A time without a zone is taken as UTC. `None` where it is anything else.
pub(crate) fn parse(text: &str) -> Option<i64> {
    parse_bytes(text.as_bytes())
}

/// Like `parse`, for a text whose encoding does not matter.
pub(crate) fn parse_bytes(text: &[u8]) -> Option<i64> {
    written_form(text).or_else(|| parse_any(text))
}

/// The form in which entries are written, without the times for which one has to look twice.
fn written_form(text: &[u8]) -> Option<i64> {
    const FORM: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
    let text: &[u8; 24] = text.try_into().ok()?;
    let mut wrong = 0;
    for (&byte, &form) in text.iter().zip(FORM) {
        // `0` stands for every digit.
        wrong |= if form == b'0' { u8::from(byte.wrapping_sub(b'0') > 9) } else { byte ^ form };
    }
    if wrong != 0 {
        return None;
    }
    let number = |at: usize, len: usize| text[at..at + len].iter().fold(0, |sum, b| sum * 10 + i64::from(b - b'0'));
    let (month, day) = (number(5, 2), number(8, 2));
    let (hour, minute, second) = (number(11, 2), number(14, 2), number(17, 2));
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let millis = ((hour * 60 + minute) * 60 + second) * 1000 + number(20, 3);
    Some(days_from_civil(number(0, 4), month, day) * 86_400_000 + millis)
}

fn parse_any(text: &[u8]) -> Option<i64> {
    let mut rest = text;
    let year = year(&mut rest)?;
    let (mut month, mut day, mut millis) = (1, 1, 0);
    if take(&mut rest, b'-') {
        month = digits(&mut rest, 2)?;
        if take(&mut rest, b'-') {
            day = digits(&mut rest, 2)?;
        }
    }
    if take(&mut rest, b'T') || take(&mut rest, b't') || take(&mut rest, b' ') {
        millis = time_of_day(&mut rest)?;
    }
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && rest.is_empty();
    in_range.then(|| days_from_civil(year, month, day) * 86_400_000 + millis)
}

fn year(rest: &mut &[u8]) -> Option<i64> {
    let sign = match rest.first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return digits(rest, 4),
    };
    *rest = &rest[1..];
    Some(sign * digits(rest, 6)?)
}

fn time_of_day(rest: &mut &[u8]) -> Option<i64> {
    let hour = digits(rest, 2)?;
    let minute = if take(rest, b':') { digits(rest, 2)? } else { return None };
    let (mut second, mut milli) = (0, 0);
    if take(rest, b':') {
        second = digits(rest, 2)?;
        if take(rest, b'.') || take(rest, b',') {
            let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (fraction, after) = rest.split_at_checked(count).filter(|_| count > 0)?;
            milli = (0..3).fold(0, |sum, i| sum * 10 + fraction.get(i).map_or(0, |digit| i64::from(digit - b'0')));
            *rest = after;
        }
    }
    if minute > 59 || second > 59 || hour > 24 || (hour == 24 && minute + second + milli > 0) {
        return None;
    }
    let offset = match rest.first() {
        Some(b'Z' | b'z') => {
            *rest = &rest[1..];
            0
        }
        Some(&sign @ (b'+' | b'-')) => {
            *rest = &rest[1..];
            let hours = digits(rest, 2)?;
            take(rest, b':');
            let minutes = hours * 60 + digits(rest, 2)?;
            if sign == b'-' { -minutes } else { minutes }
        }
        _ => 0,
    };
    Some(((hour * 60 + minute - offset) * 60 + second) * 1000 + milli)
}

fn take(rest: &mut &[u8], byte: u8) -> bool {
    match rest.split_first() {
        Some((&first, after)) if first == byte => {
            *rest = after;
            true
        }
        _ => false,
    }
}

fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (number, after) = rest.split_at_checked(count)?;
    *rest = after;
    number.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

/// `YYYY-MM-DDTHH:MM:SS.mmmZ`, the form in which entries are written.
pub(crate) fn format(millis: i64) -> String {
    let mut text = Vec::with_capacity(24);
    write(millis, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

/// Appends [`format`] of a time.
pub(crate) fn write(millis: i64, out: &mut Vec<u8>) {
    let (days, of_day) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day) = civil_from_days(days);
    let (seconds, milli) = (of_day / 1000, of_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if !(0..=9999).contains(&year) {
        let date = format!("{year:+07}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z");
        return out.extend_from_slice(date.as_bytes());
    }
    // Every append formats a time, and the formatting machinery costs more than the rest of the entry's head.
    let mut text = *b"0000-00-00T00:00:00.000Z";
    for (end, width, mut number) in
        [(4, 4, year), (7, 2, month), (10, 2, day), (13, 2, hour), (16, 2, minute), (19, 2, second), (23, 3, milli)]
    {
        for digit in text[end - width..end].iter_mut().rev() {
            *digit += (number % 10) as u8;
            number /= 10;
        }
    }
    out.extend_from_slice(&text);
}

/// Milliseconds since 1970, now.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar; years are counted from March so that the leap day
/// is the last of its year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_agents_write() {
        for (text, millis) in [
            ("1970-01-01T00:00:00.000Z", Some(0)),
            ("2026-02-16T10:20:30.5+02:00", Some(1_771_230_030_500)),
            ("2026-02-16", Some(1_771_200_000_000)),
            ("2026-02-16T10:20:30Z", Some(1_771_237_230_000)),
            ("2026-02-16T10:20:30.123456Z", Some(1_771_237_230_123)),
            ("1969-12-31T23:59:59.999Z", Some(-1)),
            ("2024-02-29T24:00Z", Some(1_709_251_200_000)),
            ("not a date", None),
            ("", None),
            ("2026-13-01", None),
            ("2026-02-16T25:00:00Z", None),
            ("2026-02-16T10:20:30Zx", None),
            ("2026-02-16T10:20:30.Z", None),
        ] {
            assert_eq!(parse(text), millis, "{text}");
        }
    }

    #[test]
    fn the_written_form_is_read_as_any_other() {
        let written = *b"2026-02-16T10:20:30.123Z";
        for place in 0..written.len() {
            for byte in 0..=255 {
                let mut text = written;
                text[place] = byte;
                assert_eq!(parse_bytes(&text), parse_any(&text), "{}", text.escape_ascii());
            }
        }
        for text in ["2026-00-16T10:20:30.123Z", "2026-02-00T10:20:30.123Z", "0000-12-31T23:59:99.999Z"] {
            assert_eq!(parse(text), parse_any(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn formatting_and_reading_are_inverse_over_the_calendar() {
        for day in (-800_000..800_000i64).step_by(37) {
            let millis = day * 86_400_000 + (day * 7919).rem_euclid(86_400_000);
            let text = format(millis);
            assert_eq!(parse(&text), Some(millis), "{text}");
        }
    }
}
