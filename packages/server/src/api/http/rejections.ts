import { WeirError } from '@weir/base';

/** A request that cannot be parsed: 400 with the message as JSON. */
export class BadRequest extends WeirError {
  constructor(message: string) {
    super('bad_request', message);
  }
}

/** An invalid path parameter: 400 in plain text, before the handler runs. */
export class BadPath extends WeirError {
  constructor(message: string) {
    super('bad_path', `Invalid URL: ${message}`);
  }
}

/** A resource that does not exist: 404 with the message as JSON. */
export class NotFound extends WeirError {
  constructor(message: string) {
    super('not_found', message);
  }
}
