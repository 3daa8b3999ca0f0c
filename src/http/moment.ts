import { DAY, HOUR, MINUTE } from '#src/clock.ts';

/** A time as people read it: absolute, because nothing on a page can count down, and relative. */
export interface Moment {
  /** "14:36 UTC" when it is less than a day away, else "28 February 2027". */
  absolute: string;
  /** The same for `<time>`: ISO 8601, to the minute or to the day. */
  iso: string;
  /** "in 4 minutes", "2 minutes ago", "just now". */
  relative: string;
  /** "4 minutes", "90 days". */
  distance: string;
}

/** What a language says about times; its texts have it. */
export interface TimeTexts {
  /** BCP 47. */
  locale: string;
  justNow: string;
}

/** Where a distance is told in the next larger unit: "90 minutes" says more than "2 hours". */
const UNITS: [unit: 'minute' | 'hour' | 'day', length: number, upTo: number][] = [
  ['minute', MINUTE, 2 * HOUR],
  ['hour', HOUR, 2 * DAY],
  ['day', DAY, Infinity],
];

/** Describes a time, in milliseconds. What is to come is rounded up to the minute, so that it has come then. */
export function describeMoment(time: number, now: number, t: TimeTexts): Moment {
  const shown = time > now ? Math.ceil(time / MINUTE) * MINUTE : time;
  const away = Math.abs(shown - now);
  const [unit, length] = UNITS.find(([, , upTo]) => away < upTo) ?? ['day', DAY];
  const amount = Math.max(1, Math.round(away / length));
  const isNow = shown <= now && away < MINUTE;
  const iso = new Date(shown).toISOString();
  return {
    absolute: away < DAY ? `${iso.slice(11, 16)} UTC` : formatDate(shown, t),
    iso: away < DAY ? `${iso.slice(0, 16)}Z` : iso.slice(0, 10),
    relative: isNow
      ? t.justNow
      : new Intl.RelativeTimeFormat(t.locale).format(shown > now ? amount : -amount, unit),
    distance: new Intl.NumberFormat(t.locale, {
      style: 'unit',
      unit,
      unitDisplay: 'long',
    }).format(amount),
  };
}

function formatDate(time: number, t: TimeTexts): string {
  return new Intl.DateTimeFormat(t.locale, { dateStyle: 'long', timeZone: 'UTC' }).format(time);
}
