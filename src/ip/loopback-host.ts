import { ipVersion } from './ip-version.ts';

/** Whether an address or a name, bare or as in a URL, refers to this host. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  if (name === 'localhost' || name === '[::1]' || name === '::1') return true;
  return name.startsWith('127.') && ipVersion(name) === 4;
}
