//! The page of the search. It lists what the palette lists, with more items, and needs no script.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use super::entry_view::show_entry;
use super::query::search_read;
use super::{SearchEntry, SearchSection, SearchSections};
use crate::components::{Empty, FilterForm, render_resource, search_field};
use crate::live::{self, Topic};
use crate::paths;
use crate::resource::create_resource;

/// The page.
#[component]
pub fn SearchPage() -> impl IntoView {
    let query = use_query_map();
    let part = move |name: &'static str| query.read().get(name);
    let version = live::watch_version(|| Some(Topic::Fleet));
    let data = create_resource(
        move || (part("q").unwrap_or_default(), part("switch"), version.get()),
        |(q, switch, _)| search_read(q, switch, String::new(), true, None),
    );
    let title = move || if part("switch").is_some() { "Switch workload" } else { "Search" };
    view! {
        <Title text="Search" />
        <div class="stack-md max-w-240">
            <h1 class="title">{title}</h1>
            <FilterForm action=paths::SEARCH>
                <div class="filter-bar">
                    {move || search_field("q", "Workload, cluster, group, chart, page or action", part("q").unwrap_or_default())}
                    {move || part("switch").map(|tab| view! { <input type="hidden" name="switch" value=tab /> })}
                    <button class="btn" type="submit">
                        "Search"
                    </button>
                </div>
            </FilterForm>
            {render_resource(data, move |found| show_results(found, &part("q").unwrap_or_default()))}
        </div>
    }
    .into_any()
}

fn show_results(found: SearchSections, q: &str) -> AnyView {
    let SearchSections { sections, words, is_truncated } = found;
    if sections.is_empty() {
        let title = format!("Nothing has a name with “{q}”");
        return view! {
            <Empty title=title text="Names of workloads, clusters, groups and charts are searched, and those of pages and actions. Every word has to be in the name.">
                <a class="btn" href=paths::WORKLOADS>
                    "All workloads"
                </a>
            </Empty>
        }
        .into_any();
    }
    let more = is_truncated.then(|| {
        view! { <p class="table-foot">"More items match than are listed: add a word."</p> }
    });
    view! {
        <div class="stack">
            {sections.into_iter().enumerate().map(|(at, section)| show_section(at, section, &words)).collect_view()}
        </div>
        {more}
    }
    .into_any()
}

fn show_section(at: usize, section: SearchSection, words: &[String]) -> impl IntoView + use<> {
    let id = format!("results-{at}");
    let rows = section.entries.into_iter().map(|entry| show_row(entry, words));
    view! {
        <section class="stack-sm" aria-labelledby=id>
            <h2 class="section" id=id.clone()>
                {section.title}
            </h2>
            <div class="list">{rows.collect_view()}</div>
        </section>
    }
}

fn show_row(entry: SearchEntry, words: &[String]) -> AnyView {
    let body = show_entry(&entry, words);
    let command = (!entry.command.is_empty())
        .then(|| view! { <code class="list-end meta mono max-lg:hidden">{entry.command.clone()}</code> });
    if entry.href.is_empty() {
        return view! {
            <div class="list-row text-3" aria-disabled="true">
                {body}
                {command}
            </div>
        }
        .into_any();
    }
    view! {
        <a class="list-row" href=entry.href>
            {body}
            {command}
        </a>
    }
    .into_any()
}
