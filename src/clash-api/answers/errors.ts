import { LocalHttpError } from '../../local-http/local-http-error.ts';

/** An error in mihomo's form, `{"message": …}`. */
export const clashError = (status: number, message: string): LocalHttpError =>
  new LocalHttpError(status, 'clash', message);

/** Errors with mihomo's texts. */
export const notFound = (): LocalHttpError => clashError(404, 'Resource not found');
export const bodyInvalid = (): LocalHttpError => clashError(400, 'Body invalid');
export const unauthorized = (): LocalHttpError => clashError(401, 'Unauthorized');
