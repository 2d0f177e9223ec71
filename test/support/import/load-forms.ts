import { loadForms } from '../../../src/protocols/registry.ts';

/* Imported by tests of what commands call after they have loaded the forms of protocols. */

await loadForms();
