//! Lists in pages.

use crate::Request;

/// One page of a list.
///
/// ```
/// use fakecloud::Page;
///
/// let page = Page::numbered(vec!["a", "b", "c"], 2, 2);
/// assert_eq!((page.items, page.total), (vec!["c"], 3));
///
/// let page = Page::after(vec!["a", "b", "c"], Some("a"), 1, |item| (*item).to_owned()).expect("`a` is in the list");
/// assert_eq!((page.marker().copied(), page.items), (Some("b"), vec!["b"]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// The number of items on all pages.
    pub total: usize,
    /// The number of items on earlier pages.
    pub start: usize,
    /// The number of items that a full page has.
    pub size: usize,
}

/// The URLs of other pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// The first page; `None` on the first page.
    pub first: Option<String>,
    /// The page before.
    pub previous: Option<String>,
    /// The page after.
    pub next: Option<String>,
    /// The last page; `None` on the last page.
    pub last: Option<String>,
}

impl<T> Page<T> {
    /// The page of this number, from 1. A page beyond the last one is empty.
    pub fn numbered(items: Vec<T>, number: usize, size: usize) -> Self {
        let size = size.max(1);
        Self::from(items, number.max(1).saturating_sub(1).saturating_mul(size), size)
    }

    /// The page after the item with this marker; the first one without a marker. `None` if no item has it.
    pub fn after(items: Vec<T>, marker: Option<&str>, size: usize, id: impl Fn(&T) -> String) -> Option<Self> {
        let start = match marker {
            None => 0,
            Some(marker) => items.iter().position(|item| id(item) == marker)? + 1,
        };
        Some(Self::from(items, start, size))
    }

    fn from(items: Vec<T>, start: usize, size: usize) -> Self {
        Self {
            total: items.len(),
            items: items.into_iter().skip(start).take(size).collect(),
            start,
            size,
        }
    }

    /// The item whose ID is the marker of the next page; `None` if there is no next page.
    pub fn marker(&self) -> Option<&T> {
        self.items.last().filter(|_| self.start + self.items.len() < self.total)
    }

    /// The URLs of the other pages of a list that is paged by number, with this name in the query.
    pub fn links(&self, request: &Request, parameter: &str) -> Links {
        let number = self.start / self.size + 1;
        let last = self.total.div_ceil(self.size).max(1);
        let link = |to: usize| request.link(&[(parameter, &to.to_string())]);
        Links {
            first: (number > 1).then(|| link(1)),
            previous: (number > 1).then(|| link((number - 1).min(last))),
            next: (number < last).then(|| link(number + 1)),
            last: (number < last).then(|| link(last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;
    use rstest::rstest;

    #[rstest]
    #[case::first(1, &[0, 1], "- - 2 3")]
    #[case::middle(2, &[2, 3], "1 1 3 3")]
    #[case::last(3, &[4], "1 2 - -")]
    #[case::beyond(9, &[], "1 3 - -")]
    #[case::none(0, &[0, 1], "- - 2 3")]
    fn by_number(#[case] number: usize, #[case] items: &[i32], #[case] links: &str) {
        let request = Request::new(Method::GET, "/v2/x?per_page=2", "");
        let page = Page::numbered((0..5).collect(), number, 2);
        let Links {
            first,
            previous,
            next,
            last,
        } = page.links(&request, "page");
        let prefix = "http://localhost/v2/x?per_page=2&page=";
        let short = |link: Option<String>| link.map_or("-".to_owned(), |link| link.replace(prefix, ""));
        assert_eq!([first, previous, next, last].map(short).join(" "), links);
        assert_eq!((page.items, page.total), (items.to_vec(), 5));
    }

    #[rstest]
    #[case::first(None, Some((vec![0, 1], Some(1))))]
    #[case::middle(Some("1"), Some((vec![2, 3], Some(3))))]
    #[case::last(Some("2"), Some((vec![3, 4], None)))]
    #[case::unknown(Some("9"), None)]
    fn by_marker(#[case] marker: Option<&str>, #[case] expected: Option<(Vec<i32>, Option<i32>)>) {
        let page = Page::after((0..5).collect(), marker, 2, i32::to_string);
        let page = page.map(|page| (page.items.clone(), page.marker().copied()));
        assert_eq!(page, expected);
    }
}
