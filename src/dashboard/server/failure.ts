import { hintsOf, WeirError } from '../../errors.ts';
import { LocalHttpError } from '../../local-http/local-http-error.ts';
import { printableLines } from '../../printable.ts';
import { ActionError } from '../action-error.ts';
import type { ActionFailure, FailureText } from '../shared/protocol.ts';

/** An error as a page shows it; text of other programs in it is escaped. */
export function failureText(error: WeirError): FailureText {
  const details = error instanceof ActionError ? error.details : undefined;
  return {
    code: error.code,
    message: printableLines(error.message),
    hints: hintsOf(error).map(printableLines),
    ...(details === undefined ? {} : { details }),
  };
}

/** An error as a response. */
export interface FailedResponse {
  readonly status: number;
  readonly body: ActionFailure;
}

/** The response to an action that has thrown; `undefined` if the error is a defect. */
export function failedResponse(error: unknown): FailedResponse | undefined {
  if (!(error instanceof WeirError)) return undefined;
  const isHttp = error instanceof ActionError || error instanceof LocalHttpError;
  return { status: isHttp ? error.status : 422, body: { error: failureText(error) } };
}
