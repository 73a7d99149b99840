//! Skills and prompt templates, with their front matter.

use super::{chance, changed, changes, kept};
use crate::program::Service;

/// Spec: [GUIDE-20] [GUIDE-23] [GUIDE-24] [GUIDE-26] [GUIDE-69]
#[tokio::test]
async fn a_skill_of_any_bytes_is_listed_or_told_of_and_hides_no_other() {
    let kept = kept("guidance");
    let mut random = chance();
    let (service, _standin, _script) = Service::scripted(&[]).await;
    let mut files: Vec<Vec<u8>> = kept.iter().map(|(_, file)| file.clone()).collect();
    files.extend((0..changes(300)).map(|_| changed(&mut random, &kept)));
    for (round, files) in files.chunks(100).enumerate() {
        let folder = service.home.path().join(".harness/skills");
        drop(std::fs::remove_dir_all(&folder));
        let templates = service.home.path().join(".harness/prompts");
        std::fs::create_dir_all(&templates).unwrap();
        for (number, bytes) in files.iter().enumerate() {
            let skill = folder.join(format!("s{number}"));
            std::fs::create_dir_all(&skill).unwrap();
            std::fs::write(skill.join("SKILL.md"), bytes).unwrap();
            std::fs::write(templates.join(format!("t{number}.md")), bytes).unwrap();
        }
        let good = folder.join("good");
        std::fs::create_dir_all(&good).unwrap();
        let text = "---\nname: good\ndescription: Stays.\n---\nText\n";
        std::fs::write(good.join("SKILL.md"), text).unwrap();
        let listed = service.get("/v1/skills").await;
        let skills = listed["skills"].as_array().unwrap();
        let problems = listed["problems"].as_array().unwrap();
        assert!(skills.iter().any(|skill| skill["name"] == "good"));
        // One that is listed may have a remark besides.
        assert!(skills.len() + problems.len() > files.len(), "round {round}");
        service.get("/v1/templates").await;
    }
}
