import { WeirError, type WeirErrorOptions } from '@weir/base';

/** A failed command about sources; the message is for users and has no secrets. */
export class SubscribeError extends WeirError {
  constructor(message: string, options?: WeirErrorOptions) {
    super('subscribe', message, options);
  }
}

/** An unusable response of a source, whose nodes are left unchanged. The message is the reason. */
export class RefusedAnswerError extends WeirError {
  constructor(message: string, options?: WeirErrorOptions) {
    super('refused_answer', message, options);
  }
}
