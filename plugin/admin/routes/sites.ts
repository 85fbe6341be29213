import type { FastifyInstance } from 'fastify';
import { describe } from '../describe';
import type { Operation } from '../operation';
import { siteOrder, sitesView, siteView } from '../views';

const names = { system: { type: 'string' }, site: { type: 'string' } };

/** Sites with their shares and traffic, and operators' orders for them. */
export function siteRoutes(scope: FastifyInstance, operation: Operation): void {
  scope.get(
    '/v1/sites',
    { schema: describe('All sites: state, shares, nodes, traffic', { tag: 'sites', answer: sitesView }) },
    async () => ({ sites: await operation.sites() }),
  );

  scope.put<{ Params: { system: string; site: string } }>(
    '/v1/sites/:system/:site/state',
    {
      schema: describe('Take a site or node out of service, drain it, or bring it back', {
        tag: 'sites',
        params: names,
        body: siteOrder,
        answer: siteView,
        failures: {
          404: 'No such system, site or node.',
          409: 'It would leave the system without an active site; `force` does it all the same. Or this is no active instance, and its registry its own: say it on the active.',
        },
      }),
    },
    ({ params, body }) => operation.orderSite(params.system, params.site, siteOrder.parse(body)),
  );
}
