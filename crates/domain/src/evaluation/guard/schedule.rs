//! Cron schedules in the syntax of Kubernetes: five fields, or a macro.

/// Field name, least and greatest value, names of the values.
type CronField = (&'static str, u32, u32, &'static [&'static str]);

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: [CronField; 5] = [
    ("minute", 0, 59, &[]),
    ("hour", 0, 23, &[]),
    ("day of month", 1, 31, &[]),
    ("month", 1, 12, MONTHS),
    ("day of week", 0, 6, DAYS),
];
const MACROS: &[&str] = &["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Checks a schedule. The error is a clause that follows the schedule in the message.
///
/// # Errors
/// Kubernetes would reject the schedule.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let schedule = schedule.trim();
    if schedule.starts_with('@') {
        let known = MACROS.contains(&schedule) || schedule.starts_with("@every ");
        return if known { Ok(()) } else { Err("is not a known macro, such as @daily".to_owned()) };
    }
    if schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=") {
        return Err("contains a time zone, which belongs in spec.timeZone".to_owned());
    }
    let parts: Vec<&str> = schedule.split_whitespace().collect();
    if parts.len() != FIELDS.len() {
        return Err(format!("has {} fields instead of 5 (minute, hour, day, month, weekday)", parts.len()));
    }
    FIELDS
        .iter()
        .zip(parts)
        .try_for_each(|(field, part)| part.split(',').try_for_each(|item| check_item(field, item)))
}

fn check_item(field: &CronField, item: &str) -> Result<(), String> {
    let (range, step) = item.split_once('/').map_or((item, None), |(range, step)| (range, Some(step)));
    if step.is_some_and(|step| !step.parse::<u32>().is_ok_and(|step| step > 0)) {
        return Err(format!("has the invalid step {:?} in its {}", truncate(item), field.0));
    }
    if matches!(range, "*" | "?") {
        return Ok(());
    }
    let (from, to) = range.split_once('-').unwrap_or((range, range));
    let (from, to) = (parse_value(field, from)?, parse_value(field, to)?);
    if from > to {
        Err(format!("has the range {:?} in its {}, which starts after its end", truncate(range), field.0))
    } else {
        Ok(())
    }
}

fn parse_value(field: &CronField, text: &str) -> Result<u32, String> {
    let (name, least, most, names) = field;
    let lower = text.to_ascii_lowercase();
    if let Some(at) = names.iter().position(|name| *name == lower) {
        return Ok(u32::try_from(at).unwrap_or(0) + least);
    }
    match text.parse::<u32>() {
        Ok(number) if (*least..=*most).contains(&number) => Ok(number),
        _ => Err(format!("has {name} {}; the range is {least} to {most}", truncate(text))),
    }
}

fn truncate(text: &str) -> String {
    text.chars().take(20).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g222_schedules_are_parsed_as_kubernetes_parses_them() {
        for good in [
            "*/5 * * * *",
            "0 0 1 jan sun",
            "0,30 8-18/2 ? * MON-FRI",
            "@daily",
            "@every 1h30m",
            " 1 2 3 4 5 ",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, error) in [
            ("61 * * * *", "has minute 61; the range is 0 to 59"),
            ("* * * *", "has 4 fields instead of 5 (minute, hour, day, month, weekday)"),
            ("* * * * 7", "has day of week 7; the range is 0 to 6"),
            ("*/0 * * * *", "has the invalid step \"*/0\" in its minute"),
            ("* 9-8 * * *", "has the range \"9-8\" in its hour, which starts after its end"),
            ("@often", "is not a known macro, such as @daily"),
        ] {
            assert_eq!(check(bad).unwrap_err(), error, "{bad}");
        }
        assert!(check("TZ=UTC * * * * *").is_err());
    }
}
