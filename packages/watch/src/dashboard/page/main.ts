/** Entry module of the page. */
import { render } from 'preact';
import type { FrameView } from '../frame/view.ts';
import { startClock } from './format.ts';
import { startConnection, watch } from './connection.ts';
import { html } from './html.ts';
import { startKeys } from './commands.ts';
import { startRouter } from './router.ts';
import { followTheme } from './settings.ts';
import { Shell } from './shell.ts';

followTheme();
// Before the router starts: the token of a link is in the address that it reads.
startConnection();
startRouter();
startClock();
startKeys();
render(html`<${Shell} frame=${watch<FrameView>('frame')} />`, document.body);
document.documentElement.dataset['ready'] = 'true';
