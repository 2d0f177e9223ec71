/** The operand of `profile` on the control socket, as JSON. */
export interface ProfileRequest {
  /** Duration of the profile: 0 for none, at most `MAX_PROFILE_SECONDS`. */
  readonly seconds: number;
  /** Whether to profile even with more flows than `MOST_FLOWS_OF_PROFILE`. */
  readonly busy?: boolean;
}

export const MAX_PROFILE_SECONDS = 30;

/**
 * Number of flows above which a profile has to be forced. V8 walks the whole heap when a recording begins, without
 * interruption: 20 to 40 ms in an idle Weir, and above 50 ms with the objects of thousands of flows.
 */
export const MOST_FLOWS_OF_PROFILE = 500;

/** The profile of a process, and statistics of its memory, without any of its contents. */
export interface ProcessProfile {
  readonly kind: 'profile';
  /** A .cpuprofile (`Profiler.Profile` of the Chrome DevTools Protocol); `null` without one. */
  readonly profile: object | null;
  /** Statistics from `node:v8` and `process`, by the names there; sizes in bytes. */
  readonly heap: object;
  /** `process.versions`. */
  readonly versions: Readonly<Record<string, string>>;
}

/** No profile was recorded. */
export interface ProfileRefused {
  readonly kind: 'failed';
  readonly line: string;
}

/** Parses a request; `undefined` for any other text. @param text the rest of the request line */
export function toProfileRequest(text: string): ProfileRequest | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null || !('seconds' in parsed)) return undefined;
  const { seconds, busy } = parsed as Readonly<Record<string, unknown>>;
  const isValid = typeof seconds === 'number' && seconds >= 0 && seconds <= MAX_PROFILE_SECONDS;
  return isValid ? { seconds, busy: busy === true } : undefined;
}

/** Parses a response; `undefined` for any other value. @param parsed any JSON */
export function toProfileResponse(parsed: unknown): ProcessProfile | ProfileRefused | undefined {
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { kind, line, profile, heap, versions } = parsed as Readonly<Record<string, unknown>>;
  if (kind === 'failed') return typeof line === 'string' ? { kind, line } : undefined;
  if (kind !== 'profile' || typeof profile !== 'object') return undefined;
  if (typeof heap !== 'object' || heap === null) return undefined;
  if (typeof versions !== 'object' || versions === null) return undefined;
  const texts = Object.entries(versions).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return { kind, profile, heap, versions: Object.fromEntries(texts) };
}
