// A path without a page.
export const NotFoundPage = () => (
  <div class="empty">
    <h1>Page not found</h1>
    <a class="button" href="calls">
      Go to the calls
    </a>
  </div>
);
