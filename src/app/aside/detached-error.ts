import {
  ConfigError,
  DocumentReadError,
  type ConfigErrorKind,
  type ConfigLocation,
} from '../../config/errors.ts';
import type { ForeignFormat } from '../../config/sources/foreign-format.ts';
import { WeirError, codeOf, hintsOf, messageOf } from '../../errors.ts';

/** An error in the form in which it is sent between threads, without its class. */
export interface DetachedError {
  readonly message: string;
  readonly code: string;
  /** Of the error and its causes, which are not sent. */
  readonly hint: string | undefined;
  /** Of a ConfigError. */
  readonly config:
    | {
        readonly kind: ConfigErrorKind;
        readonly location: ConfigLocation | undefined;
        readonly subject: string | undefined;
        readonly showsPlace: boolean;
        readonly format: ForeignFormat | undefined;
        /** Whether it is a DocumentReadError. */
        readonly unread: boolean;
      }
    | undefined;
}

export function detachError(error: unknown): DetachedError {
  const message = messageOf(error);
  const code = codeOf(error) ?? 'internal';
  const hint = hintsOf(error).join('\n') || undefined;
  if (!(error instanceof ConfigError)) return { message, code, hint, config: undefined };
  const { kind, location, subject, showsPlace, format } = error;
  const unread = error instanceof DocumentReadError;
  return { message, code, hint, config: { kind, location, subject, showsPlace, format, unread } };
}

/** The error that was sent, without its cause. */
export function attachError({ message, code, hint, config }: DetachedError): WeirError {
  if (!config) return new WeirError(code, message, { hint });
  const options = { ...config, hint };
  return new (config.unread ? DocumentReadError : ConfigError)(config.kind, message, options);
}
