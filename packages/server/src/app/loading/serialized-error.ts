import {
  ConfigError,
  DocumentReadError,
  type ConfigErrorKind,
  type ConfigLocation,
} from '@weir/config';
import type { ForeignFormat } from '@weir/config/documents';
import { WeirError, codeOf, hintsOf, messageOf } from '@weir/base';

/** An error as plain data: `structuredClone` preserves neither its class nor its fields. */
export interface SerializedError {
  readonly message: string;
  readonly code: string;
  /** The hints of the error and of its causes, which are not transferred. */
  readonly hint: string | undefined;
  /** Present for a ConfigError. */
  readonly config:
    | {
        readonly kind: ConfigErrorKind;
        readonly location: ConfigLocation | undefined;
        readonly subject: string | undefined;
        readonly showsPlace: boolean;
        readonly format: ForeignFormat | undefined;
        /** Whether the error is a DocumentReadError. */
        readonly unread: boolean;
      }
    | undefined;
}

export function serializeError(error: unknown): SerializedError {
  const message = messageOf(error);
  const code = codeOf(error) ?? 'internal';
  const hint = hintsOf(error).join('\n') || undefined;
  if (!(error instanceof ConfigError)) return { message, code, hint, config: undefined };
  const { kind, location, subject, showsPlace, format } = error;
  const unread = error instanceof DocumentReadError;
  return { message, code, hint, config: { kind, location, subject, showsPlace, format, unread } };
}

/** Recreates the error, without its cause. */
export function deserializeError({ message, code, hint, config }: SerializedError): WeirError {
  if (!config) return new WeirError(code, message, { hint });
  const options = { ...config, hint };
  return new (config.unread ? DocumentReadError : ConfigError)(config.kind, message, options);
}
