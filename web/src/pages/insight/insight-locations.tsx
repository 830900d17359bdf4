// The locations of a report side by side: each is judged by its own times.
import type { LocationInsight } from "../../../../src/model/insight.ts";
import type { InsightReport } from "../../insights.ts";
import { nameOfLocation, useLocations } from "../../locations.tsx";
import { formatCount, formatMs, formatPercent } from "../../number.ts";
import { ScrollRegion } from "../../parts/scroll-region.tsx";

export function InsightLocations({ report: { locations } }: { readonly report: InsightReport }) {
  const places = useLocations();
  const longest = Math.max(0, ...locations.map(({ q3, passed }) => (passed > 0 ? q3 : 0)));
  return (
    <section class="card">
      <h2>Locations side by side</h2>
      {locations.length === 0 ? (
        <p class="muted">No call was made.</p>
      ) : (
        <ScrollRegion label="Locations side by side">
          <table class="blocks">
            <thead>
              <tr>
                <th scope="col">Location</th>
                <th scope="col" class="number">
                  Calls
                </th>
                <th scope="col" class="number">
                  Passed
                </th>
                <th scope="col" class="number">
                  Median
                </th>
                <th scope="col">The middle half of all times</th>
                <th scope="col" class="number">
                  Variation
                </th>
                <th scope="col" class="number">
                  Outliers
                </th>
                <th scope="col" class="number">
                  Outliers from
                </th>
              </tr>
            </thead>
            <tbody>
              {locations.map((location) => (
                <Row
                  key={location.location_id}
                  name={nameOfLocation(places, location.location_id)}
                  location={location}
                  longest={longest}
                />
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
      <p class="muted small">
        An outlier passed, took longer than Q3 + 3 × (Q3 − Q1) of its own location, and at least 10
        ms longer than the median; Q1 and Q3 bound the middle half. A result that Sonde's agent may
        have lengthened is never an outlier.
      </p>
    </section>
  );
}

interface RowProps {
  readonly name: string;
  readonly location: LocationInsight;
  /** The longest Q3 of all locations, in milliseconds. */
  readonly longest: number;
}

function Row({ name, location, longest }: RowProps) {
  const { made, passed, pass_percent, q1, median, q3 } = location;
  const isTimed = passed > 0;
  return (
    <tr>
      <th scope="row" class="whole">
        {name}
      </th>
      <td class="number" data-label="Calls">
        {formatCount(made)}
      </td>
      <td class="number" data-label="Passed">
        {formatPercent(pass_percent)}
      </td>
      <td class="number" data-label="Median">
        {isTimed ? formatMs(median) : "–"}
      </td>
      <td class="whole">
        {isTimed && (
          <div class="middle-half">
            <span class="scale" aria-hidden="true">
              <span
                class="range"
                style={{
                  insetInlineStart: `${(100 * q1) / longest}%`,
                  width: `${(100 * (q3 - q1)) / longest}%`,
                }}
              />
              <span class="median" style={{ insetInlineStart: `${(100 * median) / longest}%` }} />
            </span>
            <span class="small muted">
              {formatMs(q1)} to {formatMs(q3)}
            </span>
          </div>
        )}
      </td>
      <td class="number" data-label="Variation">
        {isTimed ? `${(100 * location.variation).toFixed(1)} %` : "–"}
      </td>
      <td class="number" data-label="Outliers">
        {isTimed ? formatCount(location.outliers) : "–"}
      </td>
      <td class="number" data-label="Outliers from">
        {isTimed ? formatMs(location.outlier_from) : "–"}
      </td>
    </tr>
  );
}
