import { requestLineReference } from '../../plugin/dispatch/request-line';
import { fillBlock, itIsCurrent } from '../fixtures/generated';

describe('the documented log', () => {
  itIsCurrent('docs/log.md', (before) => fillBlock(before, 'request-line', requestLineReference()));
});
