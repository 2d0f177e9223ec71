import { DecodeError, PlainDecodeError } from '../../schema/errors.ts';
import { SettingsFinding } from '../findings.ts';

/** Runs a protocol's decoder; what it refuses is told without a line, as `settings` errors are. */
export function lowerSettings<T>(subject: string, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const what = error instanceof PlainDecodeError ? '' : 'invalid settings: ';
    const message = `${subject}: ${what}${error.message}`;
    throw new SettingsFinding(message, error.span, { cause: error });
  }
}
