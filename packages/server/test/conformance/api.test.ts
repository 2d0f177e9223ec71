import { describe } from 'node:test';
import { authenticationSuite } from './api-authentication.ts';
import { connectionsSuite } from './api-connections.ts';
import { eventsSuite } from './api-events.ts';
import { fuzzSuite } from './api-fuzz.ts';
import { generalSuite } from './api-general.ts';
import { ifMatchSuite } from './api-if-match.ts';
import { lifecycleSuite } from './api-lifecycle.ts';
import { pickBodySuite } from './api-pick-body.ts';
import { pickSuite } from './api-pick.ts';
import { reloadSuite } from './api-reload.ts';
import { routesSuite } from './api-routes.ts';
import { stopSuite } from './api-stop.ts';
import { trafficSuite } from './api-traffic.ts';
import { webPagesSuite } from './api-web-pages.ts';

/** What `docs/api.md` promises of the API itself, over real sockets of both kinds. */
for (const carrier of ['tcp', 'unix'] as const) {
  describe(`the control API over ${carrier}`, () => {
    generalSuite(carrier);
    authenticationSuite(carrier);
    routesSuite(carrier);
    pickSuite(carrier);
    pickBodySuite(carrier);
    ifMatchSuite(carrier);
    reloadSuite(carrier);
    connectionsSuite(carrier);
    eventsSuite(carrier);
    trafficSuite(carrier);
    webPagesSuite(carrier);
    stopSuite(carrier);
    lifecycleSuite(carrier);
    fuzzSuite(carrier);
  });
}
