/** HTTP for browsers and programs of this host. */
export { type ListenText, type LocalListen, parseLocalListen } from './local-http/listen.ts';
export { LocalExchange } from './local-http/local-exchange.ts';
export { LocalHttpError } from './local-http/local-http-error.ts';
export { defectText, LocalServer } from './local-http/local-server.ts';
export { newToken, secretCheck } from './local-http/secret-check.ts';
