import type { Http3Request, Http3ResponseHead } from '@weir/http/http3';
import { PASSWORD } from './harness.ts';

/** The authentication that the server accepts, with some fields changed. */
export function authentication(changes: Readonly<Record<string, string>> = {}): Http3Request {
  const fields = { 'hysteria-auth': PASSWORD, 'hysteria-cc-rx': '0', ...changes };
  return {
    method: 'POST',
    scheme: 'https',
    authority: 'hysteria',
    path: '/auth',
    fields: Object.entries(fields).map(([name, value]) => ({ name, value })),
  };
}

/** The value of the first field with a name. */
export const fieldOf = (
  { fields }: Pick<Http3ResponseHead, 'fields'>,
  wanted: string,
): string | undefined => fields.find(({ name }) => name === wanted)?.value;
