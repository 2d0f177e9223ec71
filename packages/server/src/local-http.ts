/** HTTP for browsers and programs of this host. */
export { eventText, type SseStream } from './local-http/event-stream.ts';
export { rawResponse } from './local-http/http-server.ts';
export {
  type ListenText,
  type LocalListen,
  parseLocalListen,
  readTls,
} from './local-http/listen-option.ts';
export { type LocalExchange, LocalHttpError, targetOf } from './local-http/local-exchange.ts';
export { defectText, LocalServer } from './local-http/local-server.ts';
export { RequestRouter, type RouteKey } from './local-http/router.ts';
export { bearerToken, newToken, secretCheck } from './local-http/secret.ts';
