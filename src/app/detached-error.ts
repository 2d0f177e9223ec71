import {
  ConfigError,
  DocumentReadError,
  type ConfigErrorKind,
  type ConfigLocation,
} from '../config/errors.ts';
import { WeirError, codeOf, messageOf } from '../errors.ts';

/** An error in the form in which it is sent between threads, without its class. */
export interface DetachedError {
  readonly message: string;
  readonly code: string;
  /** Of a ConfigError. */
  readonly config:
    | {
        readonly kind: ConfigErrorKind;
        readonly location: ConfigLocation | undefined;
        readonly subject: string | undefined;
        /** Whether it is a DocumentReadError. */
        readonly unread: boolean;
      }
    | undefined;
}

export function detachError(error: unknown): DetachedError {
  const message = messageOf(error);
  const code = codeOf(error) ?? 'internal';
  if (!(error instanceof ConfigError)) return { message, code, config: undefined };
  const { kind, location, subject } = error;
  const unread = error instanceof DocumentReadError;
  return { message, code, config: { kind, location, subject, unread } };
}

/** The error that was sent, without its cause. */
export function attachError({ message, code, config }: DetachedError): WeirError {
  if (!config) return new WeirError(code, message);
  return new (config.unread ? DocumentReadError : ConfigError)(config.kind, message, config);
}
