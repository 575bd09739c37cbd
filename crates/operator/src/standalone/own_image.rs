//! The operator's own image, from the Pod that it runs in.

use super::{ImageSource, operator::Operator};
use crate::{Unread, platforms::images::OPERATOR};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::ListParams};
use runtime::client::explain;
use serde_json::json;

impl Operator {
    /// Reads the image from the operator's own Pod, if it is not known yet. A Pod keeps its image.
    pub(super) async fn find_own_image(&mut self) {
        let ImageSource::OwnPod { namespace, name } = &self.settings.images else {
            return;
        };
        if self.images.is_ok() {
            return;
        }
        let pods: Api<Pod> = Api::namespaced(self.clients.read.clone(), namespace);
        let source = &self.settings.images;
        self.images = match pods
            .list(&ListParams::default().fields(&format!("metadata.name={name}")))
            .await
        {
            Ok(list) => {
                images(list.items.first()).ok_or_else(|| Unread(format!("{source} does not exist: correct --own-pod")))
            }
            Err(error) => Err(Unread(format!("cannot read {source}: {}", explain(&error)))),
        };
    }
}

/// The image of the first container, in the form of the file that names the images of a release.
fn images(pod: Option<&Pod>) -> Option<String> {
    let container = pod?.spec.as_ref()?.containers.first()?;
    let image = container.image.as_ref()?;
    Some(json!({ OPERATOR: image }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platforms::Images;

    #[test]
    fn is_that_of_the_first_container() {
        let pod = json!({"spec": {"containers": [{"name": "operator", "image": "example.com/outrigger:1"},
                                                 {"name": "proxy", "image": "example.com/proxy:1"}]}});
        let text = images(Some(&serde_json::from_value(pod).unwrap())).unwrap();
        assert_eq!(Images::parse(&text).unwrap().own(), Some("example.com/outrigger:1"));
        assert_eq!(images(None), None);
    }
}
